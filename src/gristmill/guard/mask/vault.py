"""Holds the placeholders of one session and the values they stand for.

A placeholder is ``<KIND_xxxxxxxxxx>``: the kind in capitals, and ten letters derived from the value with the session's key. The
same value has the same placeholder throughout a session. Without the key, a guessed value cannot be checked against a
placeholder, and the placeholders of two sessions cannot be compared.
"""

import html
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property
from hashlib import blake2b
from urllib.parse import quote

from gristmill.guard.mask.placeholders import PLACEHOLDER, PLACEHOLDER_LETTERS
from gristmill.guard.mask.text.text_spans import CREDENTIAL, GAP
from gristmill.model import Json

OnNew = Callable[[str, str, str], None]
"""Gets (placeholder, value, kind) of each new entry, to store it for as long as the session."""

MOST_ENTRIES = 200_000
_SHORTEST_KEY = 16
_ATTEMPTS = 1_000

_ALPHABET = bytes(ord("a") + byte % 26 for byte in range(256))

_QUOTED_FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "<": (">", str),
    "%3c": ("%3e", lambda value: quote(value, safe="")),
    "&lt;": ("&gt;", html.escape),
    "\\u003c": ("\\u003e", lambda value: json.dumps(value)[1:-1]),
}

NUMBER_SUFFIX = "_NUMBER"
"""Suffix of the kind of a value that was a JSON number, so that it is restored as a number."""

NUMBER_KINDS = frozenset(kind + NUMBER_SUFFIX for kind in ("CARD", "PHONE", "SSN", "SECRET"))


class MaskVault:
    """The values that were masked in one session, by placeholder."""

    def __init__(
        self,
        key: bytes | Callable[[], bytes],
        entries: Mapping[str, str] | None = None,
        on_new: OnNew | None = None,
        most: int = MOST_ENTRIES,
    ) -> None:
        self._key = key
        self._on_new = on_new
        self._most = most
        self._values = dict(entries or {})
        self._placeholders: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """By kind, then by value: there may be very many, and a string caches its own hash."""
        for placeholder, value in self._values.items():
            self._placeholders[_read_kind(placeholder)][value] = placeholder

    @cached_property
    def _keyed_hash(self) -> blake2b:
        """The hash with the session's key; created with the first mask, since most runs need none."""
        key = self._key() if callable(self._key) else self._key
        if len(key) < _SHORTEST_KEY:
            raise ValueError(f"the key of a mask vault needs at least {_SHORTEST_KEY} bytes")
        return blake2b(key=key[:64], digest_size=PLACEHOLDER_LETTERS)

    def __len__(self) -> int:
        return len(self._values)

    def placeholder(self, kind: str, value: str) -> str:
        """Returns the placeholder for ``value``; it is the same each time."""
        return self.placeholders(kind, [value])[0]

    def placeholders(self, kind: str, values: list[str]) -> list[str]:
        """Returns the placeholders for ``values``, which are all of that kind; they are the same each time."""
        known = self._placeholders[kind]
        fresh = list(dict.fromkeys(values))
        if not known.keys().isdisjoint(fresh):
            fresh = [value for value in fresh if value not in known]
        made = self._make_placeholders(kind, fresh) if fresh else []
        if len(made) == len(values):
            return made
        by_value = dict(zip(fresh, made, strict=True))
        return [known.get(value) or by_value[value] for value in values]

    def placeholders_by_kind(self, kinds: list[str], values: list[str]) -> list[str]:
        """Returns the placeholders for ``values``, each of which has its own kind."""
        by_kind: defaultdict[str, list[str]] = defaultdict(list)
        for kind, value in zip(kinds, values, strict=True):
            by_kind[kind].append(value)
        made = {kind: iter(self.placeholders(kind, some)) for kind, some in by_kind.items()}
        return list(map(next, map(made.__getitem__, kinds)))

    def find_placeholder(self, kinds: Iterable[str], value: str) -> str | None:
        """Returns the placeholder that ``value`` has already as one of these kinds."""
        return next((self._placeholders[kind][value] for kind in kinds if value in self._placeholders.get(kind, ())), None)

    @property
    def all_placeholders(self) -> Set[str]:
        """All placeholders of this session, exactly as created."""
        return self._values.keys()

    def is_own_placeholder(self, match: re.Match[str]) -> bool:
        """Tells whether a match of ``PLACEHOLDER`` is a placeholder of this session."""
        return match[0] in self._values or _normalize_placeholder(match[2]) in self._values

    def restore(self, match: re.Match[str]) -> str:
        """Returns the value for a match of ``PLACEHOLDER``, quoted like it; the match itself if it is not of this session."""
        value = self._values.get(_normalize_placeholder(match[2]))
        closing, quoted = _QUOTED_FORMS[match[1].lower()]
        if value is None or match[3].lower() != closing:
            return match[0]
        return quoted(_copy_case(match[2], value))

    def restore_exact_texts(self, texts: Iterable[str]) -> dict[str, Json]:
        """Returns those of ``texts`` that are exactly one placeholder as created, each with its value."""
        values = self._values
        return {text: self.restore_text(text) if NUMBER_SUFFIX in text else values[text] for text in texts if text in values}

    def restore_text(self, text: str) -> Json:
        """Returns ``text`` with every placeholder restored; a number if the whole text is the placeholder of one."""
        restored = PLACEHOLDER.sub(self.restore, text)
        match = PLACEHOLDER.fullmatch(text)
        if match and restored != text and _read_kind(_normalize_placeholder(match[2])) in NUMBER_KINDS:
            return int(restored)
        return restored

    def _make_placeholders(self, kind: str, fresh: list[str]) -> list[str]:
        """Creates placeholders. A full vault still masks but keeps no more values: losing a value is better than showing it."""
        letters = self._derive_letters(kind, fresh)
        made = [f"<{kind}_{letters[at : at + PLACEHOLDER_LETTERS]}>" for at in range(0, len(letters), PLACEHOLDER_LETTERS)]
        if kind == CREDENTIAL or self._keep_all_at_once(kind, made, fresh):
            return made
        for at, value in enumerate(fresh):
            if made[at] in self._values:
                made[at] = self._make_unused_placeholder(kind, value)
            if len(self._values) < self._most:
                self._keep_values(kind, {made[at]: value})
        return made

    def _keep_all_at_once(self, kind: str, made: list[str], fresh: list[str]) -> bool:
        """Keeps all values in one step, which is faster, if no two have the same placeholder and there is room for all; returns
        whether it did."""
        kept = dict(zip(made, fresh, strict=True))
        is_plain = len(kept) == len(made) and self._values.keys().isdisjoint(kept)
        if not is_plain or len(self._values) + len(made) > self._most:
            return False
        self._keep_values(kind, kept)
        return True

    def _keep_values(self, kind: str, kept: Mapping[str, str]) -> None:
        self._values.update(kept)
        self._placeholders[kind].update(zip(kept.values(), kept, strict=True))
        if self._on_new:
            for placeholder, value in kept.items():
                self._on_new(placeholder, value, kind)

    def _make_unused_placeholder(self, kind: str, value: str) -> str:
        for attempt in range(1, _ATTEMPTS):
            if (placeholder := f"<{kind}_{self._derive_letters(kind, [value], attempt)}>") not in self._values:
                return placeholder
        raise RuntimeError("found no unused placeholder in a thousand tries")

    def _derive_letters(self, kind: str, values: list[str], attempt: int = 0) -> str:
        """Derives the letters of all values for that attempt, ten for each, as one text."""
        start = self._keyed_hash.copy()
        start.update(f"{attempt}\0{kind}{GAP}".encode())
        copy = start.copy
        digests = [keyed.digest() for value in _encode_values(values) if not (keyed := copy()).update(value)]
        return b"".join(digests).translate(_ALPHABET).decode()


def _encode_values(values: list[str]) -> list[bytes]:
    try:
        return list(map(str.encode, values))
    except UnicodeEncodeError:  # one of them holds a lone surrogate
        return [value.encode("utf-8", "surrogatepass") for value in values]


def _read_kind(placeholder: str) -> str:
    return placeholder[1 : -PLACEHOLDER_LETTERS - 2]


def _normalize_placeholder(core: str) -> str:
    return f"<{core[:-PLACEHOLDER_LETTERS].upper()}{core[-PLACEHOLDER_LETTERS:].lower()}>"


def _copy_case(core: str, value: str) -> str:
    """Changes the case of the value in the way in which the program changed the case of the placeholder."""
    for change in (str.lower, str.upper, str.title):
        if core == change(core):
            return change(value)
    return value
