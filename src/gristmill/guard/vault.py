"""The placeholders of one session and the values they stand for.

A placeholder is ``<KIND_xxxxxxxxxx>``: the kind in capitals and ten letters made from the value with the session's key. The same
value has the same placeholder throughout a session; without the key nobody can guess a value and check it, and two sessions
cannot be compared.
"""

import html
import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from urllib.parse import quote

from gristmill.guard.spans import CREDENTIAL
from gristmill.model import Json

OnNew = Callable[[str, str, str], None]
"""(placeholder, value, kind) of a new entry, to be kept for as long as the session."""

LETTERS = 10
MOST_ENTRIES = 200_000
_SHORTEST_KEY = 16

_ALPHABET = bytes(ord("a") + byte % 26 for byte in range(256))

PLACEHOLDER = re.compile(rf"(<|%3C|&lt;|\\u003c)([A-Z][A-Z0-9_]{{0,40}}_[A-Z]{{{LETTERS}}})(>|%3E|&gt;|\\u003e)", re.IGNORECASE)
"""A placeholder as it was given out, or as code may have quoted it for a URL, HTML or JSON, or changed its case."""

MASK = re.compile(rf"<[A-Z][A-Z0-9_]{{0,40}}_[a-z]{{{LETTERS}}}>")
"""A placeholder as it is given out."""

_FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "<": (">", str),
    "%3c": ("%3e", lambda value: quote(value, safe="")),
    "&lt;": ("&gt;", html.escape),
    "\\u003c": ("\\u003e", lambda value: json.dumps(value)[1:-1]),
}

NUMBER = "_NUMBER"
"""Ends the kind of a value that was a JSON number, so that it becomes one again."""

NUMBER_KINDS = frozenset(kind + NUMBER for kind in ("CARD", "PHONE", "SSN", "SECRET"))


class Vault:
    """What was masked in one session."""

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
        self._placeholders = {(_kind_of(placeholder), value): placeholder for placeholder, value in self._values.items()}

    @cached_property
    def _keyed(self) -> blake2b:
        """Made with the first mask: most runs need none."""
        key = self._key() if callable(self._key) else self._key
        if len(key) < _SHORTEST_KEY:
            raise ValueError(f"a vault's key has at least {_SHORTEST_KEY} bytes")
        return blake2b(key=key[:64], digest_size=LETTERS)

    def __len__(self) -> int:
        return len(self._values)

    def placeholder(self, kind: str, value: str) -> str:
        """What stands for ``value``; the same each time."""
        return self._placeholders.get((kind, value)) or self._make(kind, value)

    def holds(self, match: re.Match[str]) -> bool:
        """Whether what looks like a placeholder is one of this session."""
        return _canonical(match[2]) in self._values

    def restore(self, match: re.Match[str]) -> str:
        """The value for a match of ``PLACEHOLDER``, quoted as the placeholder was; itself, if it is not of this session."""
        value = self._values.get(_canonical(match[2]))
        closing, quoted = _FORMS[match[1].lower()]
        if value is None or match[3].lower() != closing:
            return match[0]
        return quoted(_in_case_of(match[2], value))

    def whole(self, text: str) -> Json:
        """``text`` with every placeholder restored; a number, if all of it stands for one."""
        restored = PLACEHOLDER.sub(self.restore, text)
        match = PLACEHOLDER.fullmatch(text)
        if match and restored != text and _kind_of(_canonical(match[2])) in NUMBER_KINDS:
            return int(restored)
        return restored

    def _make(self, kind: str, value: str) -> str:
        for attempt in range(1_000):
            placeholder = self._derive(kind, value, attempt)
            if placeholder not in self._values:
                break
        else:
            raise RuntimeError("no free placeholder in a thousand tries")
        # A full vault still masks, but no longer gives back: rather a lost value than one in the open.
        if kind != CREDENTIAL and len(self._values) < self._most:
            self._values[placeholder] = value
            self._placeholders[kind, value] = placeholder
            if self._on_new:
                self._on_new(placeholder, value, kind)
        return placeholder

    def _derive(self, kind: str, value: str, attempt: int) -> str:
        text = f"{attempt}\0{kind}\0{value}".encode("utf-8", "surrogatepass")
        keyed = self._keyed.copy()
        keyed.update(text)
        letters = keyed.digest().translate(_ALPHABET).decode()
        return f"<{kind}_{letters}>"


def _kind_of(placeholder: str) -> str:
    return placeholder[1 : -LETTERS - 2]


def _canonical(core: str) -> str:
    return f"<{core[:-LETTERS].upper()}{core[-LETTERS:].lower()}>"


def _in_case_of(core: str, value: str) -> str:
    """What code did to the case of the placeholder, done to the value."""
    for change in (str.lower, str.upper, str.title):
        if core == change(core):
            return change(value)
    return value
