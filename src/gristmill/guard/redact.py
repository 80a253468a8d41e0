"""Masks what the detector finds and restores what the vault holds, in texts and in JSON values. One per session."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import cast

from gristmill.guard.checksums import is_card
from gristmill.guard.detect import Detector
from gristmill.guard.fields import Hint, hint_of
from gristmill.guard.leaves import Leaves, in_fields, rebuilt
from gristmill.guard.spans import GAP, Found
from gristmill.guard.vault import NUMBER, PLACEHOLDER, Vault
from gristmill.model import Json

_BETWEEN = f"\n{GAP}\n"
"""Between strings searched together: ends a line for patterns, and no built-in search crosses it."""

_ROUNDS = 8
"""A mask can lay bare what stood glued to it. Twice is enough for all but the strangest texts."""

_LONGEST_NUMBER = 10**24


class Redactor:
    """Masks going in, unmasks going out. ``count`` holds the replacements by kind; equal texts of one value count once."""

    def __init__(self, vault: Vault, detector: Detector) -> None:
        self._vault = vault
        self._detector = detector
        self.count: Counter[str] = Counter()

    def mask(self, value: Json) -> Json:
        """``value`` with all that was found masked, names of fields included; itself, if nothing was."""
        if type(value) is str:
            return self.mask_text(value)
        plain = _plain(value)
        leaves = Leaves(plain)
        texts = self._changes({**leaves.names, **leaves.strings})
        numbers = {number: self._replace("CARD" + NUMBER, str(number)) for number in leaves.numbers if self._is_card(number)}
        fields = self._in_fields(plain, leaves.names)
        if not (texts or numbers or fields):
            return value

        def swap(name: str | None, leaf: Json) -> Json:
            changed = fields.get((name, leaf)) if fields and name is not None else None
            return changed or (texts.get(leaf, leaf) if type(leaf) is str else numbers.get(leaf, leaf))

        return rebuilt(plain, swap, texts)

    def mask_text(self, text: str) -> str:
        """``text`` with all that was found masked."""
        return self._changes((text,)).get(text, text)

    def unmask(self, value: Json) -> Json:
        """``value`` with every placeholder of this session replaced by what it stands for; itself, if there is none."""
        if not len(self._vault):
            return value
        plain = _plain(value)
        leaves = Leaves(plain)
        restored = {text: self._vault.whole(text) for text in (*leaves.names, *leaves.strings) if PLACEHOLDER.search(text)}
        restored = {text: whole for text, whole in restored.items() if whole != text}
        if not restored:
            return value
        rename = {text: str(whole) for text, whole in restored.items()}
        return rebuilt(plain, lambda _, leaf: restored.get(leaf, leaf) if type(leaf) is str else leaf, rename)

    def _changes(self, texts: Iterable[str]) -> dict[str, str]:
        """Only those texts that hold something, each with its masked form."""
        changes = self._changes_once(list(texts))
        again = changes
        for _ in range(_ROUNDS):
            again = self._changes_once(list(again.values())) if again else again
            if not again:
                break
            changes = {text: again.get(masked, masked) for text, masked in changes.items()}
        return changes

    def _changes_once(self, texts: list[str]) -> dict[str, str]:
        joined = _BETWEEN.join(texts)
        found = self._detector.find(self._hide_placeholders(joined))
        if not found:
            return {}
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        by_text: dict[int, Found] = {}
        for start, end, kind in found:
            which = bisect_right(starts, start) - 1
            offset = starts[which]
            # A key of many lines may seem to go on into the separator.
            end = min(end - offset, len(texts[which]))
            by_text.setdefault(which, []).append((start - offset, end, kind))
        return {texts[which]: self._masked(texts[which], spans) for which, spans in by_text.items()}

    def _masked(self, text: str, spans: Found) -> str:
        parts: list[str] = []
        at = 0
        for start, end, kind in spans:
            if start < end:
                parts += (text[at:start], self._replace(kind, text[start:end]))
                at = end
        return "".join(parts) + text[at:]

    def _replace(self, kind: str, value: str) -> str:
        self.count[kind] += 1
        return self._vault.placeholder(kind, value)

    def _hide_placeholders(self, text: str) -> str:
        """What is masked already is not looked at; what only looks so is a stranger's text like any other."""
        if not len(self._vault):
            return text
        return PLACEHOLDER.sub(lambda match: GAP * len(match[0]) if self._vault.holds(match) else match[0], text)

    def _is_card(self, number: int) -> bool:
        return self._detector.finds("card") and number < 10**19 and is_card(str(number))

    def _in_fields(self, value: Json, names: Iterable[str]) -> dict[tuple[str, Json], str]:
        """Placeholders for values that only the name of their field gives away."""
        hints: Mapping[str, Hint] = {name: hint for name in names if (hint := hint_of(name))}
        found: dict[tuple[str, Json], str] = {}
        if not hints:
            return found
        for name, leaf in in_fields(value, hints):
            if not self._is_raw(leaf) or (name, leaf) in found:
                continue
            if kind := self._detector.kind_in_field(hints[name], str(leaf)):
                found[name, leaf] = self._replace(kind + (NUMBER if type(leaf) is int else ""), str(leaf))
        return found

    def _is_raw(self, leaf: Json) -> bool:
        """Whether ``leaf`` is a string without masks, or a number that anybody would dial or type."""
        if type(leaf) is str:
            return not any(map(self._vault.holds, PLACEHOLDER.finditer(leaf)))
        return type(leaf) is int and abs(leaf) < _LONGEST_NUMBER


def _plain(value: Json) -> Json:
    """A mapping or tuple at the top as the dict or list that it is in JSON."""
    if type(value) is not dict and isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    return list(cast("tuple[Json, ...]", value)) if isinstance(value, tuple) else cast("Json", value)
