"""Learns from use: a tool called after a question rises for similar questions. The runtime decides whether this is stored.

Only hashes of word stems are kept, so the file says nothing to a reader who does not already know the question.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, cast

from msgspec import Struct

from gristmill.catalog.search.question_parts import VERB_CLASSES, find_verb_class
from gristmill.catalog.search.search_terms import extract_terms
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json

FORMAT = 2
"""Increased when saved habits change their meaning; those of a format that is not known are forgotten."""
MAX_HABITS = 400
"""The number of habits that are kept; the weakest are dropped first."""
FADE_FACTOR = 0.995
"""The factor for all weights each time a habit is recorded."""
MAX_LIFT = 4.0
"""The most that a habit can add to a fused score; less than what a tool gains whose name the question says."""
_MIN_SIMILARITY = 0.5
_MAX_TERMS = 64


class UsageHabit(Struct, frozen=True, kw_only=True):
    """Words that led to a tool; ``weight`` grows with every repetition and fades with every other recording."""

    words: frozenset[str]
    tool: str
    weight: float


class UsageHabits(Struct, frozen=True, kw_only=True):
    """The tools that were called after questions."""

    entries: tuple[UsageHabit, ...] = ()

    def with_calls(self, query: str, tools: Iterable[str]) -> Self:
        """Returns the habits after ``tools`` were called following ``query``."""
        asked = _hash_words(query)
        called = set(tools) if asked else set[str]()
        if not called:
            return self
        weights = {(habit.words, habit.tool): habit.weight * FADE_FACTOR for habit in self.entries}
        for tool in called:
            weights[asked, tool] = weights.get((asked, tool), 0.0) + 1.0
        # Strongest first, then by name: the same calls always give the same value.
        order = sorted(weights.items(), key=lambda item: (-item[1], item[0][1], sorted(item[0][0])))
        return type(self)(
            entries=tuple(UsageHabit(words=words, tool=tool, weight=weight) for (words, tool), weight in order[:MAX_HABITS])
        )

    def score_lifts(self, query: str) -> dict[str, float]:
        """Returns what to add to the score of each tool that a similar question led to."""
        asked = _hash_words(query)
        lifts: dict[str, float] = {}
        for habit in self.entries:
            if _have_different_verbs(asked, habit.words):
                continue  # what led to reading says nothing about changing
            shared = len(asked & habit.words)
            if shared and (similar := shared / len(asked | habit.words)) > _MIN_SIMILARITY:
                lift = MAX_LIFT * similar**3 * (1 - math.exp(-habit.weight))  # half as similar says far less than half
                lifts[habit.tool] = max(lifts.get(habit.tool, 0.0), lift)
        return lifts

    def to_json(self) -> dict[str, Json]:
        """Returns the habits as plain JSON."""
        habits = [{"words": sorted(habit.words), "tool": habit.tool, "weight": habit.weight} for habit in self.entries]
        return {"format": FORMAT, "habits": habits}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Restores saved habits; malformed entries are left out, because forgetting is better than failing."""
        habits = (_read_habit(as_mapping(entry)) for entry in _list_entries(content)[:MAX_HABITS])
        return cls(entries=tuple(habit for habit in habits if habit is not None))


def _list_entries(content: object) -> Sequence[Json]:
    if isinstance(content, list):
        return as_list(cast("Json", content))  # 0.1.0 saved the bare list
    kept = as_mapping(content)
    return as_list(kept.get("habits")) if kept.get("format") == FORMAT else ()


def _read_habit(entry: Mapping[str, Json]) -> UsageHabit | None:
    words, tool, weight = as_list(entry.get("words")), entry.get("tool"), entry.get("weight")
    if not words or not isinstance(tool, str) or not isinstance(weight, int | float):
        return None
    if not 0 < weight < math.inf:
        return None
    return UsageHabit(words=frozenset(str(word) for word in words[:_MAX_TERMS]), tool=tool, weight=float(weight))


def _hash_words(query: str) -> frozenset[str]:
    stems = list(dict.fromkeys(extract_terms(query)))[: _MAX_TERMS - 1]
    verb = find_verb_class(query) if stems else None
    return frozenset(map(_hash_word, [*stems, *([f"verb {verb}"] if verb else [])]))


def _hash_word(word: str) -> str:
    return hashlib.blake2b(word.encode(), digest_size=6).hexdigest()


_VERBS = frozenset(_hash_word(f"verb {name}") for name in set(VERB_CLASSES.values()))


def _have_different_verbs(one: frozenset[str], two: frozenset[str]) -> bool:
    verbs, others = one & _VERBS, two & _VERBS
    return bool(verbs and others and verbs != others)
