"""Our quick `dataclass` behaves as the standard library's: the same class made by both answers alike."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, field, replace
from typing import Any

import pytest

from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """Fields of every sort."""

    name: str
    count: int = 3
    tags: list[str] = field(default_factory=list[str])
    hidden: str = field(default="h", repr=False)
    aside: int = field(default=0, compare=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The same fields."""

    name: str
    count: int = 3
    tags: list[str] = field(default_factory=list[str])
    hidden: str = field(default="h", repr=False)
    aside: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """By position."""

    left: int
    right: int = 2


@dataclass(slots=True)
class Draft:
    """One that may change."""

    name: str
    tags: list[str] = field(default_factory=list[str])


@dataclass(slots=True, eq=False)
class Ticket:
    """One that is nobody but itself."""

    number: int = 1
    made: int = field(init=False, default=7)


@pytest.fixture(params=[Quick, Plain])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_fields_have_their_defaults_and_lists_of_their_own(kind: Any) -> None:
    one, two = kind(name="a"), kind(name="a")
    one.tags.append("x")
    assert asdict(two) == {"name": "a", "count": 3, "tags": [], "hidden": "h", "aside": 0}
    assert asdict(replace(one, count=4)) == {"name": "a", "count": 4, "tags": ["x"], "hidden": "h", "aside": 0}


def test_equal_values_are_equal_and_have_one_hash(kind: Any) -> None:
    assert kind(name="a", aside=1) == kind(name="a", aside=2)
    assert kind(name="a") != kind(name="b")
    assert kind(name="a") != ("a", 3, [], "h")
    assert hash(Pair(1)) == hash(Pair(1, 2)) != hash(Pair(2, 1))


def test_values_show_their_fields(kind: Any) -> None:
    assert repr(kind(name="a")) == f"{kind.__name__}(name='a', count=3, tags=[], aside=0)"


def test_values_refuse_to_change(kind: Any) -> None:
    one = kind(name="a")
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    with pytest.raises(FrozenInstanceError):
        del one.name
    with pytest.raises((AttributeError, TypeError)):
        one.unheard_of = 1
    assert not hasattr(one, "__dict__")


def test_what_is_missing_unknown_or_out_of_place_is_an_error(kind: Any) -> None:
    for wrong in ((), ("a",)):
        with pytest.raises(TypeError, match=f"{kind.__name__}.__init__"):
            kind(*wrong)
    with pytest.raises(TypeError, match="unexpected keyword"):
        kind(name="a", unheard_of=1)


def test_values_can_be_copied_and_sent(kind: Any) -> None:
    one = kind(name="a", tags=["x"])
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one


def test_values_can_be_matched_by_position() -> None:
    match Pair(1, 5):
        case Pair(left, right):
            assert (left, right) == (1, 5)


def test_a_class_keeps_the_methods_that_it_brings() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "mine"

    assert (Named("a") == Named("b"), hash(Named("a")), repr(Named("a"))) == (True, 7, "mine")


def test_the_signature_is_known_before_and_after_the_first_value() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        left: int
        right: int = 2

    assert str(inspect.signature(Fresh)) == "(left: int, right: int = 2) -> None"
    assert (Fresh(1).right, str(inspect.signature(Fresh))) == (2, "(left: int, right: int = 2) -> None")


def test_a_draft_may_change_and_has_no_hash() -> None:
    draft = Draft("a")
    draft.name = "b"
    assert (draft, repr(draft)) == (Draft("b", []), "Draft(name='b', tags=[])")
    assert copy.deepcopy(draft) == pickle.loads(pickle.dumps(draft)) == draft
    with pytest.raises(TypeError):
        hash(draft)
    with pytest.raises(AttributeError):
        draft.unheard_of = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_one_that_is_compared_by_identity_is() -> None:
    one = Ticket()
    assert one != Ticket()
    assert (len({one, one}), one.made) == (1, 7)
    with pytest.raises(TypeError):
        Ticket(1, 2)  # pyright: ignore[reportCallIssue]


def test_a_value_class_can_be_inherited_from() -> None:
    @dataclass(frozen=True, slots=True)
    class Triple(Pair):
        third: int = 3

    assert asdict(Triple(1)) == {"left": 1, "right": 2, "third": 3}


def test_the_first_values_may_be_made_by_many_threads_at_once() -> None:
    for _ in range(20):

        @dataclass(frozen=True, slots=True)
        class Fresh:
            left: int

        with ThreadPoolExecutor(8) as threads:
            assert [made.left for made in threads.map(Fresh, range(8))] == list(range(8))


def test_the_ground_is_defined_without_compiling_every_method_of_each_value() -> None:
    program = (
        "import dataclasses, sys\nmade = dataclasses.dataclass\nseen = []\n"
        "dataclasses.dataclass = lambda *a, **k: (seen.append(k), made(*a, **k))[1]\n"
        "import gristmill.model, gristmill.events\nprint(sum(k.get('eq', True) for k in seen), len(seen) > 20)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0 True\n"
