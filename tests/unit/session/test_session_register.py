"""Sessions belong to somebody, are found again, and end with everything that is theirs."""

import uuid

import pytest

from gristmill.errors import LimitExceeded, Refused, UnknownSession
from gristmill.session.files.workspace import folder_name
from gristmill.session.key_values import KeyValueRules, KeyValues, forget_values
from gristmill.session.session_register import TOUCH_SECONDS, Retention, Sessions, session_key
from gristmill.store.base import Store
from tests.unit.session.conftest import Clock

pytestmark = pytest.mark.anyio

RULES = Retention(seconds=1_000, bytes_per_tenant=100, sessions_per_tenant=5)


def sessions(store: Store, clock: Clock, removed: list[str] | None = None) -> Sessions:
    gone = removed if removed is not None else []
    return Sessions(store, RULES, remove_files=gone.append, forget=lambda record: forget_values(record.handle), clock=clock)


async def test_a_session_is_found_again_by_name_and_by_handle(store: Store, clock: Clock) -> None:
    opened = await sessions(store, clock).open("work", "acme", "ann")
    again = sessions(store, clock)  # as after a restart
    assert await again.get(opened.handle, "acme", "ann") == opened == await again.open("work", "acme", "ann")
    assert uuid.UUID(opened.handle).version == 4


async def test_a_session_without_a_name_is_new_every_time(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    one, other = await kept.open(None), await kept.open(None)
    assert (one.handle != other.handle, one.key != other.key) == (True, True)


@pytest.mark.requirement("T46")
async def test_a_handle_is_no_proof_to_another_tenant_or_caller(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    opened = await kept.open("work", "acme", "ann")
    answers: set[str] = set()
    for handle, tenant, caller in ((opened.handle, "evil", "ann"), (opened.handle, "acme", "bob"), ("nonsense", "evil", "ann")):
        with pytest.raises(UnknownSession) as unknown:
            await kept.get(handle, tenant, caller)
        answers.add(unknown.value.message)
    assert len(answers) == 1  # a stranger cannot tell which


@pytest.mark.requirement("T46")
async def test_the_same_name_in_two_tenants_is_two_sessions(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    one, other = await kept.open("work", "acme"), await kept.open("work", "evil")
    assert (one.handle != other.handle, folder_name(one.key) != folder_name(other.key)) == (True, True)
    assert [each.handle for each in await kept.list("acme")] == [one.handle]


@pytest.mark.requirement("T46")
async def test_another_callers_name_is_refused_also_when_it_was_just_used(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    await kept.open("work", "acme", "ann")
    with pytest.raises(Refused) as refused:
        await kept.open("work", "acme", "bob")
    assert refused.value.rule == "session.owner"


def test_without_tenants_the_key_is_the_name_and_with_them_never_a_name() -> None:
    assert session_key("local", "work") == "work"
    assert session_key("a", "b-c") != session_key("a-b", "c")


async def test_names_that_could_pass_for_another_tenants_key_are_refused(store: Store, clock: Clock) -> None:
    with pytest.raises(Refused):
        await sessions(store, clock).open(session_key("acme", "work"))


async def test_a_use_keeps_a_session_alive(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    used = first = await kept.open("work")
    for _ in range(3):
        clock.now += 900
        used = await kept.open("work")
    assert (used.handle, used.expires) == (first.handle, clock.now + 1_000)


async def test_an_expired_handle_is_told_so_before_and_after_it_is_pruned(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    opened = await kept.open("work")
    clock.now += 1_001
    with pytest.raises(UnknownSession, match="has expired"):
        await kept.get(opened.handle)
    assert ([each.name for each in await kept.prune()], removed) == (["work"], ["work"])
    with pytest.raises(UnknownSession, match="has expired"):
        await kept.get(opened.handle)
    clock.now += 1_001
    await kept.prune()
    with pytest.raises(UnknownSession, match="no session of that handle"):
        await kept.get(opened.handle)


async def test_a_name_opened_after_it_expired_is_a_new_session_without_the_old_files(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    old = await kept.open("work")
    await KeyValues(store, KeyValueRules(bytes=100, keys=5)).set(old.handle, "k", 1)
    clock.now += 1_001
    new = await kept.open("work")
    assert (new.handle != old.handle, removed) == (True, ["work"])
    assert await store.read("SELECT * FROM session_values") == []


async def test_deleting_takes_files_and_values_along_and_nobody_elses(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept, values = sessions(store, clock, removed), KeyValues(store, KeyValueRules(bytes=100, keys=5))
    one, other = await kept.open("one"), await kept.open("other")
    for each in (one, other):
        await values.set(each.handle, "k", each.name)
    await kept.delete(one)
    assert removed == ["one"]
    assert (await values.keys(one.handle), await values.keys(other.handle)) == ((), ("k",))
    assert [each.name for each in await kept.list()] == ["other"]


async def test_too_much_is_pruned_from_its_own_tenant_used_longest_ago_first(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    sizes: dict[str, int] = {}
    for name, tenant, size in (("old", "full", 60), ("new", "full", 60), ("empty", "full", 0), ("other", "small", 90)):
        sizes[(await kept.open(name, tenant)).key] = size
        clock.now += 1
    assert [each.name for each in await kept.prune(size_of=lambda key: sizes[key])] == ["old"]
    assert removed == [session_key("full", "old")]


async def test_one_tenant_cannot_take_the_sessions_of_another(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    for number in range(5):
        await kept.open(f"s{number}", "greedy")
    with pytest.raises(LimitExceeded):
        await kept.open("one more", "greedy")
    assert (await kept.open("mine", "modest")).name == "mine"


async def test_uses_in_quick_succession_are_not_all_written(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    first = await kept.open("work")
    clock.now += TOUCH_SECONDS - 1
    assert (await kept.open("work")).used == first.used
    clock.now += 1
    assert (await kept.open("work")).used == clock.now
