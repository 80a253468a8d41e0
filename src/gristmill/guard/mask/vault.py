"""The placeholders of one session and the values they stand for.

A placeholder is ``<KIND_xxxxxxxxxx>``: the kind in capitals and ten letters made from the value with the session's key. The same
value has the same placeholder throughout a session; without the key nobody can guess a value and check it, and two sessions
cannot be compared.
"""

import html
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property
from hashlib import blake2b
from urllib.parse import quote

from gristmill.guard.mask.placeholders import LETTERS, PLACEHOLDER
from gristmill.guard.mask.text_spans import CREDENTIAL, GAP
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
        self._values = dict(entries or {})
        self._placeholders: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """By kind, then by value: there may be very many, and a value that was found knows its hash."""
        for placeholder, value in self._values.items():
            self._placeholders[_kind_of(placeholder)][value] = placeholder

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
        return self.placeholders(kind, [value])[0]

    def placeholders(self, kind: str, values: list[str]) -> list[str]:
        """What stands for each of ``values``, which are all of that kind; the same each time."""
        known = self._placeholders[kind]
        fresh = list(dict.fromkeys(values))
        if not known.keys().isdisjoint(fresh):
            fresh = [value for value in fresh if value not in known]
        made = self._make(kind, fresh) if fresh else []
        if len(made) == len(values):
            return made
        by_value = dict(zip(fresh, made, strict=True))
        return [known.get(value) or by_value[value] for value in values]

    def placeholders_of(self, kinds: list[str], values: list[str]) -> list[str]:
        """The same where each has its own kind."""
        by_kind: defaultdict[str, list[str]] = defaultdict(list)
        for kind, value in zip(kinds, values, strict=True):
            by_kind[kind].append(value)
        made = {kind: iter(self.placeholders(kind, some)) for kind, some in by_kind.items()}
        return list(map(next, map(made.__getitem__, kinds)))

    @property
    def given(self) -> Set[str]:
        """All placeholders, as they were given out."""
        return self._values.keys()

    def holds(self, match: re.Match[str]) -> bool:
        """Whether what looks like a placeholder is one of this session."""
        return match[0] in self._values or _canonical(match[2]) in self._values

    def restore(self, match: re.Match[str]) -> str:
        """The value for a match of ``PLACEHOLDER``, quoted as the placeholder was; itself, if it is not of this session."""
        value = self._values.get(_canonical(match[2]))
        closing, quoted = _FORMS[match[1].lower()]
        if value is None or match[3].lower() != closing:
            return match[0]
        return quoted(_in_case_of(match[2], value))

    def given_out(self, texts: Iterable[str]) -> dict[str, Json]:
        """Those of ``texts`` that are nothing but a placeholder as it was given out, and what each stands for."""
        values = self._values
        return {text: self.whole(text) if NUMBER in text else values[text] for text in texts if text in values}

    def whole(self, text: str) -> Json:
        """``text`` with every placeholder restored; a number, if all of it stands for one."""
        restored = PLACEHOLDER.sub(self.restore, text)
        match = PLACEHOLDER.fullmatch(text)
        if match and restored != text and _kind_of(_canonical(match[2])) in NUMBER_KINDS:
            return int(restored)
        return restored

    def _make(self, kind: str, fresh: list[str]) -> list[str]:
        """New placeholders. A full vault still masks, but no longer gives back: rather a lost value than one in the open."""
        letters = self._letters(kind, fresh)
        made = [f"<{kind}_{letters[at : at + LETTERS]}>" for at in range(0, len(letters), LETTERS)]
        if kind == CREDENTIAL or self._kept_all(kind, made, fresh):
            return made
        for at, value in enumerate(fresh):
            if made[at] in self._values:
                made[at] = self._made_again(kind, value)
            if len(self._values) < self._most:
                self._keep(kind, {made[at]: value})
        return made

    def _kept_all(self, kind: str, made: list[str], fresh: list[str]) -> bool:
        """Keep a thousand values at once rather than a thousand times one, where no two have the same placeholder and there is
        room for all."""
        kept = dict(zip(made, fresh, strict=True))
        is_plain = len(kept) == len(made) and self._values.keys().isdisjoint(kept)
        if not is_plain or len(self._values) + len(made) > self._most:
            return False
        self._keep(kind, kept)
        return True

    def _keep(self, kind: str, kept: Mapping[str, str]) -> None:
        self._values.update(kept)
        self._placeholders[kind].update(zip(kept.values(), kept, strict=True))
        if self._on_new:
            for placeholder, value in kept.items():
                self._on_new(placeholder, value, kind)

    def _made_again(self, kind: str, value: str) -> str:
        for attempt in range(1, _ATTEMPTS):
            if (placeholder := f"<{kind}_{self._letters(kind, [value], attempt)}>") not in self._values:
                return placeholder
        raise RuntimeError("no free placeholder in a thousand tries")

    def _letters(self, kind: str, values: list[str], attempt: int = 0) -> str:
        """Those of all values at that attempt, ten for each."""
        start = self._keyed.copy()
        start.update(f"{attempt}\0{kind}{GAP}".encode())
        copy = start.copy
        digests = [keyed.digest() for value in _encoded(values) if not (keyed := copy()).update(value)]
        return b"".join(digests).translate(_ALPHABET).decode()


def _encoded(values: list[str]) -> list[bytes]:
    try:
        return list(map(str.encode, values))
    except UnicodeEncodeError:  # half a character in one of them
        return [value.encode("utf-8", "surrogatepass") for value in values]


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
