"""Masks what the detector finds and restores what the vault holds, in texts and in JSON values. One per session."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import accumulate
from typing import cast

from gristmill.guard.checksums import is_card
from gristmill.guard.detect import Detector
from gristmill.guard.fields import Hint, hint_of
from gristmill.guard.leaves import Leaves, Swap, Swaps, rebuilt
from gristmill.guard.spans import GAP, Found
from gristmill.guard.vault import MASK, NUMBER, PLACEHOLDER, Vault
from gristmill.model import Json

_BETWEEN = f"\n{GAP}\n"
"""Between strings searched together: ends a line for patterns, and no built-in search crosses it."""

_ROUNDS = 8
"""A mask can lay bare what stood glued to it. Twice is enough for all but the strangest texts."""

_OPENING, _CLOSING = frozenset(" \t\n\r\"'<>([{:=,;|"), frozenset(" \t\n\r\"'<>)]},;:|\\")
_NUMERIC = frozenset("0123456789+(")

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
        fields = self._fields(leaves.names, texts)
        if not (texts or numbers or fields):
            return value
        masked = rebuilt(plain, Swaps(texts=texts, numbers=numbers, fields=fields))
        return masked if texts or numbers or masked != plain else value

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
        return rebuilt(plain, Swaps(texts=restored))

    def _changes(self, texts: Iterable[str]) -> dict[str, str]:
        """Only those texts that hold something, each with its masked form."""
        changes, unsure = self._changes_once(list(texts))
        for _ in range(_ROUNDS):
            if not unsure:
                break
            again, unsure = self._changes_once(unsure)
            changes = {text: again.get(masked, masked) for text, masked in changes.items()}
        return changes

    def _changes_once(self, texts: list[str]) -> tuple[dict[str, str], list[str]]:
        """Changed texts, and those of the new ones that have to be looked at again."""
        joined = _BETWEEN.join(texts)
        found = self._detector.find(self._hide_placeholders(joined))
        if not found:
            return {}, []
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        by_text: dict[int, Found] = {}
        for start, end, kind in found:
            which = bisect_right(starts, start) - 1
            offset = starts[which]
            # A key of many lines may seem to go on into the separator.
            end = min(end - offset, len(texts[which]))
            by_text.setdefault(which, []).append((start - offset, end, kind))
        changes = {texts[which]: self._masked(texts[which], spans) for which, spans in by_text.items()}
        unsure = (texts[which] for which, spans in by_text.items() if self._may_hide_more(texts[which], spans))
        return changes, [changes[text] for text in unsure]

    def _may_hide_more(self, text: str, spans: Found) -> bool:
        """Whether something stands so close to a finding that it was not seen for what it is."""
        return self._detector.has_patterns or any(_is_glued(text, start, end) for start, end, _ in spans)

    def _masked(self, text: str, spans: Found) -> str:
        if len(spans) == 1 and spans[0][0] == 0 and spans[0][1] == len(text):
            return self._replace(spans[0][2], text)
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

    def _fields(self, names: Iterable[str], texts: Mapping[str, str]) -> dict[str, Swap]:
        """For fields whose name says what they hold: a look at each whole value."""
        swaps: dict[str, Swap] = {}
        for name in names:
            if hint := hint_of(name):
                swaps[name] = partial(self._in_field, hint, texts)
        return swaps

    def _in_field(self, hint: Hint, texts: Mapping[str, str], leaf: Json) -> Json:
        if MASK.fullmatch(texts.get(leaf, "")):
            return leaf
        kind = self._detector.kind_in_field(hint, str(leaf)) if self._is_raw(leaf) else None
        return self._replace(kind + (NUMBER if type(leaf) is int else ""), str(leaf)) if kind else leaf

    def _is_raw(self, leaf: Json) -> bool:
        """Whether ``leaf`` is a string without masks, or a number that anybody would dial or type."""
        if type(leaf) is str:
            return not any(map(self._vault.holds, PLACEHOLDER.finditer(leaf)))
        return type(leaf) is int and abs(leaf) < _LONGEST_NUMBER


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether other than spaces, quotes and brackets stand around it, or digits right behind those."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(
        (before and (before[-1] not in _OPENING or before[0] in _NUMERIC))
        or (after and (after[0] not in _CLOSING or after[-1] in _NUMERIC))
    )


def _plain(value: Json) -> Json:
    """A mapping or tuple at the top as the dict or list that it is in JSON."""
    if type(value) is not dict and isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    return list(cast("tuple[Json, ...]", value)) if isinstance(value, tuple) else cast("Json", value)
