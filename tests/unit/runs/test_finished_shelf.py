"""What is kept of ended executions is bounded, for each tenant and for all."""

from dataclasses import dataclass

from gristmill.model import Identity
from gristmill.runs.finished_shelf import FULL_TENANTS, FinishedRun, FinishedShelf, ShelfRules

ONE = Identity(tenant="a")


@dataclass(eq=False)
class Thing:
    name: str
    identity: Identity = ONE
    ended: float | None = 0.0
    size: int = 1


class Kept:
    """A shelf, and the names of what it has given up."""

    def __init__(self, *, seconds: float = 10.0, most: int = 3, bytes_: int = 100) -> None:
        self.gone: list[str] = []
        self.shelf = FinishedShelf(ShelfRules(seconds=seconds, most=most, bytes=bytes_), self._told)

    def _told(self, thing: FinishedRun) -> None:
        assert isinstance(thing, Thing)
        self.gone.append(thing.name)


def test_the_oldest_of_a_tenant_goes_when_he_has_too_many() -> None:
    kept = Kept(most=2)
    for name, tenant in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("a3", "a"), ("b2", "b")):
        kept.shelf.put(Thing(name, Identity(tenant=tenant)))
    assert kept.gone == ["a1"]


def test_the_oldest_of_a_tenant_go_when_they_are_too_large_but_never_the_newest() -> None:
    kept = Kept(most=10)
    for name, size in (("small", 10), ("middle", 60), ("large", 90), ("huge", 150)):  # together less than all may have
        kept.shelf.put(Thing(name, size=size))
    assert kept.gone == ["small", "middle", "large"]


def test_all_tenants_together_have_a_bound() -> None:
    kept = Kept()
    for number in range(FULL_TENANTS + 2):
        kept.shelf.put(Thing(f"t{number}", identity=Identity(tenant=str(number)), size=100))
    assert kept.gone == ["t0", "t1"]


def test_what_has_lain_too_long_goes() -> None:
    kept = Kept()
    for name, ended in (("first", 0.0), ("second", 5.0), ("third", 9.0)):
        kept.shelf.put(Thing(name, identity=Identity(tenant=name), ended=ended))
    kept.shelf.expire(15.5)
    assert kept.gone == ["first", "second"]
