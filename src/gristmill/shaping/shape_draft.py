"""The state while one value is shaped: the strategy, the tables found in it, and the places where something was left out."""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct, field

from gristmill.model import Json, Strategy
from gristmill.shaping.values.find_tables import RowTable

Path = tuple[str | int, ...]
"""Keys and indexes from the whole value to a part of it."""


class LeftOutPlace(Struct, frozen=True, kw_only=True):
    """A place where something was left out, from ``start`` on."""

    path: Path
    kind: Literal["items", "pairs", "text", "whole"]
    start: int
    left: int


class ShapeDraft(Struct, kw_only=True):
    """What stays the same while ladder steps are tried on one value, and the places left out by the last step."""

    strategy: Strategy
    left_out_places: list[LeftOutPlace] = field(default_factory=list[LeftOutPlace])
    _tables: dict[int, RowTable | None] = field(default_factory=dict[int, "RowTable | None"])

    def find_table_once(self, value: list[Json] | Mapping[str, Json], look: Callable[[], RowTable | None]) -> RowTable | None:
        """Returns what ``look`` finds for ``value``, computed once; its id can be the key, as the value outlives the draft."""
        if id(value) not in self._tables:
            self._tables[id(value)] = look()
        return self._tables[id(value)]

    def record_left_out(self, path: Path, kind: Literal["items", "pairs", "text", "whole"], *, start: int, left: int) -> None:
        """Records a place where something was left out; a thousand are enough to choose one from."""
        if left > 0 and len(self.left_out_places) < 1_000:
            self.left_out_places.append(LeftOutPlace(path=path, kind=kind, start=start, left=left))

    def place_to_show(self) -> LeftOutPlace | None:
        """Returns the place to point at: items first, then pairs, wholes and texts; the most left out; the outermost."""
        order = {"items": 0, "pairs": 1, "whole": 2, "text": 3}
        return min(self.left_out_places, key=lambda fold: (order[fold.kind], -fold.left, len(fold.path)), default=None)
