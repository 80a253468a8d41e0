"""One value being shaped: the strategy, what was learned of its parts, and the places where something was left out."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

from gristmill.model import Json, Strategy
from gristmill.shaping.values.find_tables import Table
from gristmill.values import dataclass

Path = tuple[str | int, ...]
"""Keys and indexes from the whole value to a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A place where something was left out, from ``start`` on."""

    path: Path
    kind: Literal["items", "pairs", "text", "whole"]
    start: int
    left: int


@dataclass(slots=True, kw_only=True)
class Draft:
    """What stays the same while steps of the ladder are tried on one value, and the folds of the last one."""

    strategy: Strategy
    folds: list[Fold] = field(default_factory=list[Fold])
    _tables: dict[int, Table | None] = field(default_factory=dict[int, "Table | None"])

    def table(self, value: list[Json] | Mapping[str, Json], look: Callable[[], Table | None]) -> Table | None:
        """What ``look`` says about ``value``, asked once: the value outlives the draft, so its id is its name."""
        if id(value) not in self._tables:
            self._tables[id(value)] = look()
        return self._tables[id(value)]

    def left_out(self, path: Path, kind: Literal["items", "pairs", "text", "whole"], *, start: int, left: int) -> None:
        """Remember a fold; a thousand are enough to choose one from."""
        if left > 0 and len(self.folds) < 1_000:
            self.folds.append(Fold(path=path, kind=kind, start=start, left=left))

    def largest(self) -> Fold | None:
        """The fold worth pointing at: items before pairs before texts, the most left out, the outermost."""
        order = {"items": 0, "pairs": 1, "whole": 2, "text": 3}
        return min(self.folds, key=lambda fold: (order[fold.kind], -fold.left, len(fold.path)), default=None)
