from typing import Protocol, TypedDict, Literal, Generic, TypeVar, NamedTuple
from enum import Enum, auto
T = TypeVar("T")
class Color(Enum):
    RED = auto()
    BLUE = auto()
class Box(Generic[T]):
    def __init__(self, item: T) -> None: self.item = item
class Row(TypedDict):
    name: str
class P(NamedTuple):
    x: int = 1
def kind(value):
    match value:
        case {"type": "a", "n": int(n)} if n > 1: return f"a{n}"
        case [first, *rest]: return f"list of {1 + len(rest)}"
        case str() | None: return "text"
        case _: return "other"
[kind({"type": "a", "n": 2}), kind([1, 2]), kind(None), kind(5), Color.BLUE.name, Box(3).item, P().x]
# expect: ["a2", "list of 2", "text", "other", "BLUE", 3, 1]
