"""What counts as personal or secret. Pure: a text in, the places of what was found out; nothing is kept.

The searches themselves are in ``find_*``; this file puts them together. Their time is linear in the text, whoever wrote it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from fnmatch import translate
from urllib.parse import quote

from gristmill.guard.mask.detectors.account_numbers import number_finder
from gristmill.guard.mask.detectors.emails import email_finder
from gristmill.guard.mask.detectors.ip_addresses import find_addresses
from gristmill.guard.mask.detectors.operator_patterns import literal_finder, name_finder, pattern_finder
from gristmill.guard.mask.detectors.secret_keys import secret_finder
from gristmill.guard.mask.detectors.whole_values import whole_finder
from gristmill.guard.mask.field_hints import Hint, kind_in_field
from gristmill.guard.mask.text_spans import CREDENTIAL, Found, merged
from gristmill.values import dataclass

DEFAULT_KINDS = frozenset({"email", "phone", "card", "iban", "ssn", "secret"})
"""Everything built in but ``ip``."""

SHORTEST_LITERAL = 4
"""Shorter credentials are too common to look for: every second word would be masked."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What to look for."""

    kinds: frozenset[str] = DEFAULT_KINDS
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    names: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    literals: frozenset[str] = field(default=frozenset(), repr=False)


class Detector:
    """Finds personal data and secrets in texts. Built once, shared by all sessions."""

    def __init__(self, wanted: Findings = Findings()) -> None:  # noqa: B008 - frozen
        self._kinds = wanted.kinds
        self.has_patterns = bool(wanted.patterns)
        self._patterns = [pattern_finder(wanted.patterns)] if wanted.patterns else []
        self._literals = _literals(wanted)
        self._finders = self._literals + _finders(wanted) + self._patterns
        self._find_whole = whole_finder(wanted.kinds)
        allowed = [f"(?:{translate(pattern)})" for pattern in wanted.allow]
        self._allowed = re.compile("|".join(allowed), re.IGNORECASE) if allowed else None

    def find(self, text: str) -> Found:
        """Everything in ``text``, in order and without overlaps."""
        text = _searchable(text)
        found: Found = []
        for find in self._finders:
            found += find(text)
        if self._allowed and found:
            found = [span for span in found if span[2] == CREDENTIAL or not self._allowed.match(text[span[0] : span[1]])]
        return merged(found) if len(found) > 1 else found

    def matches_patterns(self, text: str) -> bool:
        """Whether one of the operator's own patterns finds something."""
        text = _searchable(text)
        return any(find(text) for find in self._patterns)

    def find_whole(self, texts: list[str], joined: str) -> Mapping[str, list[str]]:
        """By kind, those of some texts that plainly are nothing but one finding; not always all. They are also given joined."""
        if self._allowed or any(find(_searchable(joined)) for find in self._literals):
            return {}  # what is allowed, and what must never come back, is for ``find`` to see
        return self._find_whole(texts, joined)

    def finds(self, kind: str) -> bool:
        """Whether that kind is looked for."""
        return kind in self._kinds

    def kind_in_field(self, hint: Hint, value: str) -> str | None:
        """The kind of a whole value in a field whose name gives that hint."""
        kind = kind_in_field(hint, value)
        if kind is None or kind.lower() not in self._kinds or (self._allowed and self._allowed.match(value)):
            return None
        return kind


def _searchable(text: str) -> str:
    """Half a character cannot be searched; its stand-in keeps all positions."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _finders(wanted: Findings) -> list[Callable[[str], Found]]:
    finders: list[Callable[[str], Found]] = []
    if wanted.kinds & {"email", "secret"}:
        finders.append(email_finder(wanted.kinds))
    if "secret" in wanted.kinds:
        finders.append(secret_finder())
    if wanted.kinds & {"card", "iban", "ssn", "phone"}:
        finders.append(number_finder(wanted.kinds))
    if "ip" in wanted.kinds:
        finders.append(find_addresses)
    if wanted.names:
        finders.append(name_finder(wanted.names))
    return finders


def _literals(wanted: Findings) -> list[Callable[[str], Found]]:
    literals = {spelling for literal in wanted.literals for spelling in _spellings(literal)}
    return [literal_finder(literals)] if literals else []


def _spellings(literal: str) -> Iterable[str]:
    """As it is, and as it looks in a URL and in JSON."""
    if len(literal) >= SHORTEST_LITERAL:
        yield from (literal, quote(literal, safe=""), json.dumps(literal)[1:-1])
