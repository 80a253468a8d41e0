"""Masks what the detector finds and restores what the vault holds, in texts and in JSON values. One per session."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import starmap
from typing import cast

from gristmill.guard.mask.adjacent_text import Beside, is_glued
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.detectors.checksums import is_card
from gristmill.guard.mask.field_hints import Hint, hint_of
from gristmill.guard.mask.json_leaves import Leaves, Swap, Swaps
from gristmill.guard.mask.pause_gc import no_collection
from gristmill.guard.mask.placeholders import LETTERS, MASK, placeholders_in
from gristmill.guard.mask.text_spans import BETWEEN, GAP, Found, by_text, interleaved, kept_of, replaced, texts_around
from gristmill.guard.mask.vault import NUMBER, Vault
from gristmill.model import Json

_ROUNDS = 8
"""A mask can lay bare what stood glued to it. Twice is enough for all but the strangest texts."""

_LONGEST_NUMBER = 10**24
_BATCH = 4_000
"""Strings that are searched together: passed again and again, they should stay in the processor's cache."""
_MANY, _LONG = 1_000, 50_000
"""Strings, and characters of one, from which on new objects are so many that the collector would start."""


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
        leaves = Leaves(_plain(value))
        with no_collection() if len(leaves.strings) > _MANY else nullcontext():
            return self._mask(value, leaves)

    def _mask(self, value: Json, leaves: Leaves) -> Json:
        texts = self._changes(leaves.strings)
        numbers = {number: self._replace("CARD" + NUMBER, str(number)) for number in leaves.numbers if self._is_card(number)}
        fields = self._fields(leaves.names, texts)
        if not (texts or numbers or fields):
            return value
        masked = leaves.rebuilt(Swaps(texts=texts, numbers=numbers, fields=fields, whole=self._vault.given))
        return masked if texts or numbers or masked != leaves.value else value

    def mask_text(self, text: str) -> str:
        """``text`` with all that was found masked."""
        with no_collection() if len(text) > _LONG else nullcontext():
            return self._changes((text,)).get(text, text)

    def unmask(self, value: Json) -> Json:
        """``value`` with every placeholder of this session replaced by what it stands for; itself, if there is none."""
        if not len(self._vault):
            return value
        leaves = Leaves(_plain(value))
        texts = leaves.strings
        restored = self._vault.given_out(texts)
        restored |= self._restored([text for text in texts if text not in restored])
        if not restored:
            return value
        return leaves.rebuilt(Swaps(texts=restored))

    def _restored(self, texts: list[str]) -> dict[str, Json]:
        """Only those texts that hold placeholders of this session, each with what it stands for."""
        joined = BETWEEN.join(texts)
        found = list(placeholders_in(joined))
        if not found:
            return {}
        spans = [(match.start(), match.end(), "") for match in found]
        together = replaced(joined, spans, map(self._vault.restore, found))
        if together.count(GAP) >= len(texts):  # a text or a value holds a gap itself
            return {text: whole for text in texts if (whole := self._vault.whole(text)) != text}
        changed = [(text, part) for text, part in zip(texts, together.split(BETWEEN), strict=True) if part != text]
        return {text: self._vault.whole(text) if NUMBER in text.upper() else part for text, part in changed}

    def _changes(self, texts: Iterable[str], rounds: int = _ROUNDS) -> dict[str, str]:
        """Only those texts that hold something, each with its masked form."""
        texts = list(texts)
        changes: dict[str, str] = {}
        for at in range(0, len(texts), _BATCH):
            batch = texts[at : at + _BATCH]
            joined = BETWEEN.join(batch)
            if self._whole(batch, joined, changes):
                batch = [text for text in batch if text not in changes]
                joined = BETWEEN.join(batch)
            changes |= self._inside(batch, joined, rounds)
        return changes

    def _whole(self, texts: list[str], joined: str, changes: dict[str, str]) -> bool:
        """Put down those that are nothing but one finding; whether there are any."""
        whole = self._detector.find_whole(texts, joined)
        for kind, found in whole.items():
            self.count[kind] += len(found)
            changes.update(zip(found, self._vault.placeholders(kind, found), strict=True))
        return bool(whole)

    def _inside(self, texts: list[str], joined: str, rounds: int) -> dict[str, str]:
        """The same for texts that hold findings."""
        hidden = self._hide_placeholders(joined)
        found = self._detector.find(hidden)
        if not found:
            return {}
        beside = Beside(joined, found)
        if joined.count(GAP) >= len(texts) or beside.crosses():
            changes, unsure = self._apart(texts, found)
        else:
            glued = beside.glued()
            changes = self._together(texts, joined, found, glued, rounds)
            unsure = self._unsure(joined, hidden, found, glued, changes) if self._detector.has_patterns else ()
        again = self._changes(unsure, rounds - 1) if unsure and rounds else {}
        return {text: again.get(masked, masked) for text, masked in changes.items()} if again else changes

    def _unsure(self, joined: str, hidden: str, found: Found, glued: list[int], changes: Mapping[str, str]) -> Iterable[str]:
        """In which of the masked texts a pattern of the operator may find more now that masks stand there, and reach across them:
        in all if it finds something, else where something is glued to a mask."""
        masks = [GAP * (len(kind) + LETTERS + len("<_>")) for _, _, kind in found]
        parts = replaced(hidden, found, masks).split(BETWEEN)
        if self._detector.matches_patterns(BETWEEN.join([part for part in parts if GAP in part])):
            return changes.values()
        return [changes[text] for text in texts_around(joined, [found[at] for at in glued])]

    def _together(self, texts: list[str], joined: str, found: Found, glued: list[int], rounds: int) -> dict[str, str]:
        """All findings masked at once in the texts as they were joined, which are then taken apart again."""
        kinds = [kind for _, _, kind in found]
        self.count.update(kinds)
        masks = self._vault.placeholders_of(kinds, [joined[start:end] for start, end, _ in found])
        kept = kept_of(joined, found)
        if glued and rounds:
            self._look_again(kept, glued, rounds)
        masked = interleaved(kept, masks)
        parts = masked.split(BETWEEN) if len(texts) > 1 else [masked]
        return {text: part for text, part in zip(texts, parts, strict=True) if part != text}

    def _look_again(self, kept: list[str], glued: list[int], rounds: int) -> None:
        """Mask in what is left beside such findings. No finding goes across a mask, so that all else need not be read again."""
        beside = {at: kept[at].split(BETWEEN) for which in glued for at in (which, which + 1)}
        ends = (part for parts in beside.values() for part in (parts[0], parts[-1]) if part)
        again = self._changes(dict.fromkeys(ends), rounds - 1)
        for at, parts in beside.items() if again else ():
            parts[0] = again.get(parts[0], parts[0])
            if len(parts) > 1:
                parts[-1] = again.get(parts[-1], parts[-1])
            kept[at] = BETWEEN.join(parts)

    def _apart(self, texts: list[str], found: Found) -> tuple[dict[str, str], list[str]]:
        """The same text by text, for those that hold a gap themselves, and for findings that seem to go on into one."""
        spans: dict[int, Found] = {}
        for which, span in by_text(texts, found):
            spans.setdefault(which, []).append(span)
        changes = {texts[which]: self._masked(texts[which], each) for which, each in spans.items()}
        unsure = [texts[which] for which, each in spans.items() if self._may_hide_more(texts[which], each)]
        return changes, [changes[text] for text in unsure]

    def _may_hide_more(self, text: str, spans: Found) -> bool:
        """Whether something stands so close to a finding that it was not seen for what it is."""
        around = ((text[max(0, start - 2) : start], text[end : end + 2]) for start, end, _ in spans)
        return self._detector.has_patterns or any(starmap(is_glued, around))

    def _masked(self, text: str, spans: Found) -> str:
        spans = [span for span in spans if span[0] < span[1]]
        return replaced(text, spans, [self._replace(kind, text[start:end]) for start, end, kind in spans])

    def _replace(self, kind: str, value: str) -> str:
        self.count[kind] += 1
        return self._vault.placeholder(kind, value)

    def _hide_placeholders(self, text: str) -> str:
        """What is masked already is not looked at; what only looks so is a stranger's text like any other."""
        if not len(self._vault):
            return text
        ours = [(*match.span(), GAP) for match in placeholders_in(text) if self._vault.holds(match)]
        return replaced(text, ours, [GAP * (end - start) for start, end, _ in ours]) if ours else text

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
        masked = texts.get(leaf)
        if masked and (masked in self._vault.given or MASK.fullmatch(masked)):
            return leaf
        kind = self._detector.kind_in_field(hint, str(leaf)) if self._is_raw(leaf) else None
        return self._replace(kind + (NUMBER if type(leaf) is int else ""), str(leaf)) if kind else leaf

    def _is_raw(self, leaf: Json) -> bool:
        """Whether ``leaf`` is a string without masks, or a number that anybody would dial or type."""
        if type(leaf) is str:
            return not any(map(self._vault.holds, placeholders_in(leaf)))
        return type(leaf) is int and abs(leaf) < _LONGEST_NUMBER


def _plain(value: Json) -> Json:
    """A mapping or tuple at the top as the dict or list that it is in JSON."""
    if type(value) is not dict and isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    return list(cast("tuple[Json, ...]", value)) if isinstance(value, tuple) else cast("Json", value)
