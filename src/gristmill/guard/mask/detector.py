"""Finds personal data and secrets in a text and returns their places. It keeps nothing.

The searches themselves are in the folder `detectors`; this file combines them. Their time is linear in the length of any text.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import translate
from urllib.parse import quote

from gristmill.guard.mask.detectors.account_numbers import build_number_finder
from gristmill.guard.mask.detectors.emails import build_email_finder
from gristmill.guard.mask.detectors.ip_addresses import find_ip_addresses
from gristmill.guard.mask.detectors.operator_patterns import build_literal_finder, build_name_finder, build_pattern_finder
from gristmill.guard.mask.detectors.secret_keys import build_secret_finder
from gristmill.guard.mask.detectors.whole_values import build_whole_finder
from gristmill.guard.mask.field_hints import Hint, detect_field_kind
from gristmill.guard.mask.text.decoded_lines import decode_lines, decode_text
from gristmill.guard.mask.text.text_spans import CREDENTIAL, Found, merge_spans

DEFAULT_KINDS = frozenset({"email", "phone", "card", "iban", "ssn", "secret"})
"""All built-in kinds except ``ip``."""

SHORTEST_LITERAL = 4
"""The shortest credential that is searched for: a shorter one would be found in many words."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionTargets:
    """What a detector looks for: built-in kinds, patterns, names, exact credentials, and the exceptions in ``allow``."""

    kinds: frozenset[str] = DEFAULT_KINDS
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    names: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    literals: frozenset[str] = field(default=frozenset(), repr=False)


class Detector:
    """Finds personal data and secrets in texts. Built once, shared by all sessions."""

    def __init__(self, wanted: DetectionTargets = DetectionTargets()) -> None:
        self._wanted, self._kinds = wanted, wanted.kinds
        self.has_patterns = bool(wanted.patterns)
        self._patterns = [build_pattern_finder(wanted.patterns)] if wanted.patterns else []
        self._literals = _build_literal_finders(wanted)
        self._finders = self._literals + _build_finders(wanted) + self._patterns
        self._find_whole = build_whole_finder(wanted.kinds)
        allowed = [f"(?:{translate(pattern)})" for pattern in wanted.allow]
        self._allowed = re.compile("|".join(allowed), re.IGNORECASE) if allowed else None

    def learn_credentials(self, credentials: frozenset[str]) -> None:
        """Looks for ``credentials`` too, from the next text on."""
        if credentials <= self._wanted.literals:
            return
        self._wanted = replace(self._wanted, literals=self._wanted.literals | credentials)
        self._literals = _build_literal_finders(self._wanted)
        self._finders = self._literals + _build_finders(self._wanted) + self._patterns

    def find(self, text: str) -> Found:
        """Finds everything in ``text``, in order and without overlaps, also what is written in another form."""
        text = _make_searchable(text)
        found = self._search(text)
        if (decoded := decode_lines(text)) is not None:
            hidden = decoded.locate(self._search(decoded.text))
            found = decoded.correct(found, hidden) if found or hidden else found
        return merge_spans(found) if len(found) > 1 else found

    def _search(self, text: str) -> Found:
        found: Found = []
        for find in self._finders:
            found += find(text)
        if self._allowed and found:
            found = [span for span in found if span[2] == CREDENTIAL or not self._allowed.match(text[span[0] : span[1]])]
        return found

    def matches_patterns(self, text: str) -> bool:
        """Tells whether one of the operator's own patterns finds something."""
        text = _make_searchable(text)
        return any(find(text) for find in self._patterns)

    def find_whole(self, texts: list[str], joined: str) -> Mapping[str, list[str]]:
        """Returns, by kind, texts that are nothing but one finding; it may miss some. ``joined`` holds the same texts joined."""
        if self._allowed or any(find(_make_searchable(joined)) for find in self._literals):
            return {}  # exceptions, and credentials that must never be restored, are left to ``find``
        return self._find_whole(texts, joined)

    def looks_for_kind(self, kind: str) -> bool:
        """Tells whether that kind is looked for."""
        return kind in self._kinds

    def find_field_kind(self, hint: Hint, value: str) -> str | None:
        """Returns the kind of a whole value in a field whose name gives that hint; None if it is not one to mask."""
        kind = detect_field_kind(hint, value) or detect_field_kind(hint, decode_text(value))
        if kind is None or kind.lower() not in self._kinds or (self._allowed and self._allowed.match(value)):
            return None
        return kind


def _make_searchable(text: str) -> str:
    """Replaces lone surrogates, which cannot be searched, by another character, so that all positions stay."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _build_finders(wanted: DetectionTargets) -> list[Callable[[str], Found]]:
    finders: list[Callable[[str], Found]] = []
    if wanted.kinds & {"email", "secret"}:
        finders.append(build_email_finder(wanted.kinds))
    if "secret" in wanted.kinds:
        finders.append(build_secret_finder())
    if wanted.kinds & {"card", "iban", "ssn", "phone"}:
        finders.append(build_number_finder(wanted.kinds))
    if "ip" in wanted.kinds:
        finders.append(find_ip_addresses)
    if wanted.names:
        finders.append(build_name_finder(wanted.names))
    return finders


def _build_literal_finders(wanted: DetectionTargets) -> list[Callable[[str], Found]]:
    literals = {spelling for literal in wanted.literals for spelling in _yield_quoted_forms(literal)}
    return [build_literal_finder(literals)] if literals else []


def _yield_quoted_forms(literal: str) -> Iterable[str]:
    """Yields the literal as it is, quoted for a URL, and quoted for JSON."""
    if len(literal) >= SHORTEST_LITERAL:
        yield from (literal, quote(literal, safe=""), json.dumps(literal)[1:-1])
