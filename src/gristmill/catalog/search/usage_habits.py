"""Learning from use: a tool called after a question rises for similar questions. The hall decides whether it is kept.

Only hashes of word stems are remembered, so the file says nothing to a reader who does not already know the question.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Self

from gristmill.catalog.search.search_terms import terms
from gristmill.catalog.types.loose_schema import mapping, sequence
from gristmill.model import Json
from gristmill.values import dataclass

LIMIT = 400
"""Habits kept; the weakest go first."""
FADE = 0.995
"""What is left of every other habit each time one is recorded."""
LIFT = 6.0
"""The most a habit can add, in the units of a fused score, where a clear winner has about fifteen."""
_SIMILAR = 0.5
_MAX_TERMS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """These words led to this tool; ``weight`` grows with every repetition and fades with everything else."""

    words: frozenset[str]
    tool: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What was called after what was asked."""

    entries: tuple[Habit, ...] = ()

    def recorded(self, query: str, tools: Iterable[str]) -> Self:
        """The habits after ``tools`` were called following ``query``."""
        asked = _words(query)
        called = set(tools) if asked else set[str]()
        if not called:
            return self
        weights = {(habit.words, habit.tool): habit.weight * FADE for habit in self.entries}
        for tool in called:
            weights[asked, tool] = weights.get((asked, tool), 0.0) + 1.0
        # Strongest first, then by name: the same calls always give the same value.
        order = sorted(weights.items(), key=lambda item: (-item[1], item[0][1], sorted(item[0][0])))
        return type(self)(entries=tuple(Habit(words=words, tool=tool, weight=weight) for (words, tool), weight in order[:LIMIT]))

    def lifts(self, query: str) -> dict[str, float]:
        """What to add to the score of each tool that a similar question led to."""
        asked = _words(query)
        lifts: dict[str, float] = {}
        for habit in self.entries:
            shared = len(asked & habit.words)
            if shared and (similar := shared / len(asked | habit.words)) >= _SIMILAR:
                lift = LIFT * similar * (1 - math.exp(-habit.weight))
                lifts[habit.tool] = max(lifts.get(habit.tool, 0.0), lift)
        return lifts

    def to_json(self) -> list[dict[str, Json]]:
        """The habits as plain JSON."""
        return [{"words": sorted(habit.words), "tool": habit.tool, "weight": habit.weight} for habit in self.entries]

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Take up saved habits; what is malformed is left out, since forgetting is better than failing."""
        habits = (_habit(mapping(entry)) for entry in sequence(content)[:LIMIT])
        return cls(entries=tuple(habit for habit in habits if habit is not None))


def _habit(entry: Mapping[str, Json]) -> Habit | None:
    words, tool, weight = sequence(entry.get("words")), entry.get("tool"), entry.get("weight")
    if not words or not isinstance(tool, str) or not isinstance(weight, int | float):
        return None
    if not 0 < weight < math.inf:
        return None
    return Habit(words=frozenset(str(word) for word in words[:_MAX_TERMS]), tool=tool, weight=float(weight))


def _words(query: str) -> frozenset[str]:
    stems = list(dict.fromkeys(terms(query)))[:_MAX_TERMS]
    return frozenset(hashlib.blake2b(stem.encode(), digest_size=6).hexdigest() for stem in stems)
