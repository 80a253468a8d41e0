"""Masks what the detector finds, and restores what the vault holds, in texts and JSON values. Each session has one."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import starmap
from typing import cast

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.detectors.checksums import is_card
from gristmill.guard.mask.field_hints import Hint, read_hint
from gristmill.guard.mask.json_leaves import JsonLeaves, LeafSwaps, Swap
from gristmill.guard.mask.pause_gc import pause_collection
from gristmill.guard.mask.placeholders import EXACT_PLACEHOLDER, PLACEHOLDER_LETTERS, find_placeholders
from gristmill.guard.mask.table_columns import NUMBER_TYPES
from gristmill.guard.mask.text.adjacent_text import AdjacentText, is_glued
from gristmill.guard.mask.text.decoded_lines import has_encoded
from gristmill.guard.mask.text.text_spans import (
    GAP,
    SEPARATOR,
    Found,
    find_texts_with_spans,
    interleave_parts,
    locate_spans,
    replace_spans,
    split_around_spans,
)
from gristmill.guard.mask.vault import NUMBER_KINDS, NUMBER_SUFFIX, MaskVault
from gristmill.model import Json

_MOST_ROUNDS = 8
"""The most rounds: a mask can reveal a finding that was glued to it. Two rounds are enough for nearly all texts."""

_LONGEST_NUMBER = 10**24
_DIGIT_KINDS = ("PHONE", "CARD", "SSN")
_BATCH_SIZE = 4_000
"""Strings that are searched together. A string that holds the separator slows down only its own batch."""
_MANY_STRINGS, _LONG_TEXT = 1_000, 50_000
"""The number of strings, and of characters in one, above which the garbage collector is paused: it would start in between."""


class Redactor:
    """Masks and unmasks values. ``count`` holds the number of replacements by kind; equal texts in one value count once."""

    def __init__(self, vault: MaskVault, detector: Detector) -> None:
        self._vault = vault
        self._detector = detector
        self.count: Counter[str] = Counter()

    def mask(self, value: Json) -> Json:
        """Returns ``value`` with all findings masked, names of fields included; the same object if nothing was found."""
        if type(value) is str:
            return self.mask_text(value)
        leaves = JsonLeaves(_convert_top_level(value))
        with pause_collection() if len(leaves.strings) > _MANY_STRINGS else nullcontext():
            return self._mask_leaves(value, leaves)

    def _mask_leaves(self, value: Json, leaves: JsonLeaves) -> Json:
        texts = self._mask_texts(leaves.strings)
        numbers = {
            number: self._give_placeholder("CARD" + NUMBER_SUFFIX, str(int(number)))
            for number in leaves.numbers
            if self._is_card(number)
        }
        fields = self._build_field_swaps(leaves.names, texts)
        if not (texts or numbers or fields):
            return value
        masked = leaves.rebuild_value(LeafSwaps(texts=texts, numbers=numbers, fields=fields, whole=self._vault.all_placeholders))
        return masked if texts or numbers or masked != leaves.value else value

    def mask_text(self, text: str) -> str:
        """Returns ``text`` with all findings masked."""
        with pause_collection() if len(text) > _LONG_TEXT else nullcontext():
            return self._mask_texts((text,)).get(text, text)

    def find_number(self, value: str | int) -> str | None:
        """Returns the placeholder of a telephone, card or social security number that was masked before.

        Many are recognised by the name of their field only.
        """
        kinds = NUMBER_KINDS if isinstance(value, int) else _DIGIT_KINDS
        return self._vault.find_placeholder(kinds, str(value))

    def unmask(self, value: Json) -> Json:
        """Returns ``value`` with this session's placeholders replaced by their values; the same object if there are none."""
        if not len(self._vault):
            return value
        leaves = JsonLeaves(_convert_top_level(value))
        texts = leaves.strings
        restored = self._vault.restore_exact_texts(texts)
        restored |= self._restore_texts([text for text in texts if text not in restored])
        if not restored:
            return value
        return leaves.rebuild_value(LeafSwaps(texts=restored))

    def _restore_texts(self, texts: list[str]) -> dict[str, Json]:
        """Returns the texts that hold placeholders of this session, each with its restored form."""
        joined = SEPARATOR.join(texts)
        found = list(find_placeholders(joined))
        if not found:
            return {}
        spans = [(match.start(), match.end(), "") for match in found]
        together = replace_spans(joined, spans, map(self._vault.restore, found))
        if together.count(GAP) >= len(texts):  # a text or a restored value itself holds the separator character
            return {text: whole for text in texts if (whole := self._vault.restore_text(text)) != text}
        changed = [(text, part) for text, part in zip(texts, together.split(SEPARATOR), strict=True) if part != text]
        return {text: self._vault.restore_text(text) if NUMBER_SUFFIX in text.upper() else part for text, part in changed}

    def _mask_texts(self, texts: Iterable[str], rounds: int = _MOST_ROUNDS) -> dict[str, str]:
        """Returns the texts in which something was found, each with its masked form."""
        texts = list(texts)
        changes: dict[str, str] = {}
        for at in range(0, len(texts), _BATCH_SIZE):
            batch = texts[at : at + _BATCH_SIZE]
            joined = SEPARATOR.join(batch)
            if self._mask_whole_texts(batch, joined, changes):
                batch = [text for text in batch if text not in changes]
                joined = SEPARATOR.join(batch)
            changes |= self._mask_inside_texts(batch, joined, rounds)
        return changes

    def _mask_whole_texts(self, texts: list[str], joined: str, changes: dict[str, str]) -> bool:
        """Masks the texts that are nothing but one finding, into ``changes``; returns whether there are any."""
        whole = self._detector.find_whole(texts, joined)
        for kind, found in whole.items():
            self.count[kind] += len(found)
            changes.update(zip(found, self._vault.placeholders(kind, found), strict=True))
        return bool(whole)

    def _mask_inside_texts(self, texts: list[str], joined: str, rounds: int) -> dict[str, str]:
        """Masks findings inside texts; returns the changed texts, each with its masked form."""
        hidden = self._hide_placeholders(joined)
        found = self._detector.find(hidden)
        if not found:
            return {}
        beside = AdjacentText(joined, found)
        # A mask changes what an escape in the same line means, so such texts are searched again as a whole.
        encoded = has_encoded(joined)
        if joined.count(GAP) >= len(texts) or beside.crosses_separator():
            changes, unsure = self._mask_separately(texts, found)
        else:
            glued = beside.find_glued()
            changes = self._mask_joined(texts, joined, found, [] if encoded else glued, rounds)
            unsure = (
                self._find_texts_to_recheck(joined, hidden, found, glued, changes)
                if encoded or self._detector.has_patterns
                else ()
            )
        if encoded:
            unsure = dict.fromkeys([*unsure, *filter(has_encoded, changes.values())])
        again = self._mask_texts(unsure, rounds - 1) if unsure and rounds else {}
        return {text: again.get(masked, masked) for text, masked in changes.items()} if again else changes

    def _find_texts_to_recheck(
        self, joined: str, hidden: str, found: Found, glued: list[int], changes: Mapping[str, str]
    ) -> Iterable[str]:
        """Returns the masked texts that may hold more: all of them if an operator's pattern, which can reach across masks, finds
        something in them; else those in which something is glued to a mask."""
        masks = [GAP * (len(kind) + PLACEHOLDER_LETTERS + len("<_>")) for _, _, kind in found]
        parts = replace_spans(hidden, found, masks).split(SEPARATOR)
        if self._detector.matches_patterns(SEPARATOR.join([part for part in parts if GAP in part])):
            return changes.values()
        return [changes[text] for text in find_texts_with_spans(joined, [found[at] for at in glued])]

    def _mask_joined(self, texts: list[str], joined: str, found: Found, glued: list[int], rounds: int) -> dict[str, str]:
        """Masks all findings at once in the joined texts, and then splits these again."""
        kinds = [kind for _, _, kind in found]
        self.count.update(kinds)
        masks = self._vault.placeholders_by_kind(kinds, [joined[start:end] for start, end, _ in found])
        kept = split_around_spans(joined, found)
        if glued and rounds:
            self._recheck_glued_parts(kept, glued, rounds)
        masked = interleave_parts(kept, masks)
        parts = masked.split(SEPARATOR) if len(texts) > 1 else [masked]
        return {text: part for text, part in zip(texts, parts, strict=True) if part != text}

    def _recheck_glued_parts(self, kept: list[str], glued: list[int], rounds: int) -> None:
        """Masks what is left beside glued findings. No finding crosses a mask, so all other text need not be read again."""
        beside = {at: kept[at].split(SEPARATOR) for which in glued for at in (which, which + 1)}
        ends = (part for parts in beside.values() for part in (parts[0], parts[-1]) if part)
        again = self._mask_texts(dict.fromkeys(ends), rounds - 1)
        for at, parts in beside.items() if again else ():
            parts[0] = again.get(parts[0], parts[0])
            if len(parts) > 1:
                parts[-1] = again.get(parts[-1], parts[-1])
            kept[at] = SEPARATOR.join(parts)

    def _mask_separately(self, texts: list[str], found: Found) -> tuple[dict[str, str], list[str]]:
        """Masks text by text, when a text holds the separator character or a finding reaches into a separator."""
        spans: dict[int, Found] = {}
        for which, span in locate_spans(texts, found):
            spans.setdefault(which, []).append(span)
        changes = {texts[which]: self._mask_spans(texts[which], each) for which, each in spans.items()}
        unsure = [texts[which] for which, each in spans.items() if self._may_hide_more(texts[which], each)]
        return changes, [changes[text] for text in unsure]

    def _may_hide_more(self, text: str, spans: Found) -> bool:
        """Tells whether the text right beside a finding may hold another one that was not recognised."""
        around = ((text[max(0, start - 2) : start], text[end : end + 2]) for start, end, _ in spans)
        return self._detector.has_patterns or any(starmap(is_glued, around))

    def _mask_spans(self, text: str, spans: Found) -> str:
        spans = [span for span in spans if span[0] < span[1]]
        return replace_spans(text, spans, [self._give_placeholder(kind, text[start:end]) for start, end, kind in spans])

    def _give_placeholder(self, kind: str, value: str) -> str:
        self.count[kind] += 1
        return self._vault.placeholder(kind, value)

    def _hide_placeholders(self, text: str) -> str:
        """Blanks out this session's placeholders before the search. Text that only looks like one is searched as usual."""
        if not len(self._vault):
            return text
        ours = [(*match.span(), GAP) for match in find_placeholders(text) if self._vault.is_own_placeholder(match)]
        return replace_spans(text, ours, [GAP * (end - start) for start, end, _ in ours]) if ours else text

    def _is_card(self, number: int | float) -> bool:
        return self._detector.looks_for_kind("card") and number < 10**19 and int(number) == number and is_card(str(int(number)))

    def _build_field_swaps(self, names: Iterable[str], texts: Mapping[str, str]) -> dict[str, Swap]:
        """Returns a swap for each field whose name says what it holds; the swap looks at the whole value."""
        swaps: dict[str, Swap] = {}
        for name in names:
            if hint := read_hint(name):
                swaps[name] = partial(self._mask_in_field, hint, texts)
        return swaps

    def _mask_in_field(self, hint: Hint, texts: Mapping[str, str], leaf: Json) -> Json:
        masked = texts.get(leaf)
        if masked and (masked in self._vault.all_placeholders or EXACT_PLACEHOLDER.fullmatch(masked)):
            return leaf
        if not self._is_raw(leaf):
            return leaf
        value, suffix = (leaf, "") if type(leaf) is str else (str(int(leaf)), NUMBER_SUFFIX)
        kind = self._detector.find_field_kind(hint, value)
        return self._give_placeholder(kind + suffix, value) if kind else leaf

    def _is_raw(self, leaf: Json) -> bool:
        """Tells whether ``leaf`` is a string without masks, or a whole number short enough for a telephone or card number."""
        if type(leaf) is str:
            return not any(map(self._vault.is_own_placeholder, find_placeholders(leaf)))
        return type(leaf) in NUMBER_TYPES and abs(leaf) < _LONGEST_NUMBER and int(leaf) == leaf


def _convert_top_level(value: Json) -> Json:
    """Converts a mapping or tuple at the top level to the dict or list that it is in JSON."""
    if type(value) is not dict and isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    return list(cast("tuple[Json, ...]", value)) if isinstance(value, tuple) else cast("Json", value)
