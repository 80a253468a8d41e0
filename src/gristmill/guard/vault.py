"""The placeholders of one session and the values they stand for.

A placeholder is ``<KIND_xxxxxxxxxx>``: the kind in capitals and ten letters made from the value with the session's key. The same
value has the same placeholder throughout a session; without the key nobody can guess a value and check it, and two sessions
cannot be compared.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from urllib.parse import quote

from gristmill.guard.placeholders import LETTERS, PLACEHOLDER
from gristmill.guard.spans import CREDENTIAL, GAP
from gristmill.model import Json

OnNew = Callable[[str, str, str], None]
"""(placeholder, value, kind) of a new entry, to be kept for as long as the session."""

MOST_ENTRIES = 200_000
_SHORTEST_KEY = 16
_ATTEMPTS = 1_000

_ALPHABET = bytes(ord("a") + byte % 26 for byte in range(256))

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
        self._entries = {placeholder: _entry(_kind_of(placeholder), value) for placeholder, value in (entries or {}).items()}
        self._placeholders = {entry: placeholder for placeholder, entry in self._entries.items()}

    @cached_property
    def _keyed(self) -> blake2b:
        """Made with the first mask: most runs need none."""
        key = self._key() if callable(self._key) else self._key
        if len(key) < _SHORTEST_KEY:
            raise ValueError(f"a vault's key has at least {_SHORTEST_KEY} bytes")
        return blake2b(key=key[:64], digest_size=LETTERS)

    def __len__(self) -> int:
        return len(self._entries)

    def placeholder(self, kind: str, value: str) -> str:
        """What stands for ``value``; the same each time."""
        return self.placeholders([kind], [value])[0]

    def placeholders(self, kinds: list[str], values: list[str]) -> list[str]:
        """What stands for each of ``values``, whose kinds are in the same order; the same each time."""
        # Kind and value are one text: there may be very many, and a text knows its hash.
        entries = [f"{kind}{GAP}{value}" for kind, value in zip(kinds, values, strict=True)]
        known = self._placeholders
        fresh = dict(zip(entries, kinds, strict=True))
        if not known.keys().isdisjoint(fresh):
            fresh = {entry: kind for entry, kind in fresh.items() if entry not in known}
        made = self._make(list(fresh), list(fresh.values()))
        if len(made) == len(entries):
            return made
        by_entry = dict(zip(fresh, made, strict=True))
        return [known.get(entry) or by_entry[entry] for entry in entries]

    def gave(self, text: str) -> bool:
        """Whether ``text`` is a placeholder as it was given out, and nothing else."""
        return text in self._entries

    def holds(self, match: re.Match[str]) -> bool:
        """Whether what looks like a placeholder is one of this session."""
        return match[0] in self._entries or _canonical(match[2]) in self._entries

    def restore(self, match: re.Match[str]) -> str:
        """The value for a match of ``PLACEHOLDER``, quoted as the placeholder was; itself, if it is not of this session."""
        entry = self._entries.get(_canonical(match[2]))
        closing, quoted = _FORMS[match[1].lower()]
        if entry is None or match[3].lower() != closing:
            return match[0]
        return quoted(_in_case_of(match[2], _value_of(entry)))

    def given_out(self, texts: Iterable[str]) -> dict[str, Json]:
        """Those of ``texts`` that are nothing but a placeholder as it was given out, and what each stands for."""
        entries = self._entries
        return {text: self.whole(text) if NUMBER in text else _value_of(entries[text]) for text in texts if text in entries}

    def whole(self, text: str) -> Json:
        """``text`` with every placeholder restored; a number, if all of it stands for one."""
        restored = PLACEHOLDER.sub(self.restore, text)
        match = PLACEHOLDER.fullmatch(text)
        if match and restored != text and _kind_of(_canonical(match[2])) in NUMBER_KINDS:
            return int(restored)
        return restored

    def _make(self, fresh: list[str], kinds: list[str]) -> list[str]:
        """New placeholders. A full vault still masks, but no longer gives back: rather a lost value than one in the open."""
        letters = self._letters(fresh)
        starts = range(0, len(letters), LETTERS)
        made = [f"<{kind}_{letters[at : at + LETTERS]}>" for kind, at in zip(kinds, starts, strict=True)]
        if self._kept_all(made, fresh, kinds):
            return made
        for at, (kind, entry) in enumerate(zip(kinds, fresh, strict=True)):
            if made[at] in self._entries:
                made[at] = self._made_again(kind, entry)
            if kind != CREDENTIAL and len(self._entries) < self._most:
                self._keep({made[at]: entry})
        return made

    def _kept_all(self, made: list[str], fresh: list[str], kinds: list[str]) -> bool:
        """Keep a thousand values at once rather than a thousand times one, where no two have the same placeholder, there is room
        for all and none is the gateway's own."""
        kept = dict(zip(made, fresh, strict=True))
        is_plain = len(kept) == len(made) and self._entries.keys().isdisjoint(kept) and CREDENTIAL not in kinds
        if not is_plain or len(self._entries) + len(made) > self._most:
            return False
        self._keep(kept)
        return True

    def _keep(self, kept: Mapping[str, str]) -> None:
        self._entries.update(kept)
        self._placeholders.update(zip(kept.values(), kept, strict=True))
        if self._on_new:
            for placeholder, entry in kept.items():
                self._on_new(placeholder, _value_of(entry), _kind_of(placeholder))

    def _made_again(self, kind: str, entry: str) -> str:
        for attempt in range(1, _ATTEMPTS):
            if (placeholder := f"<{kind}_{self._letters([entry], attempt)}>") not in self._entries:
                return placeholder
        raise RuntimeError("no free placeholder in a thousand tries")

    def _letters(self, entries: list[str], attempt: int = 0) -> str:
        """Those of all entries at that attempt, ten for each."""
        start = self._keyed.copy()
        start.update(f"{attempt}\0".encode())
        copy = start.copy
        digests: list[bytes] = []
        for entry in entries:
            keyed = copy()
            keyed.update(entry.encode() if entry.isascii() else entry.encode("utf-8", "surrogatepass"))
            digests.append(keyed.digest())
        return b"".join(digests).translate(_ALPHABET).decode()


def _entry(kind: str, value: str) -> str:
    return f"{kind}{GAP}{value}"


def _value_of(entry: str) -> str:
    return entry[entry.index(GAP) + 1 :]


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
