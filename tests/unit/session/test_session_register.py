"""Sessions belong to somebody, are found again, and end with everything that is theirs."""

import asyncio
import uuid

import pytest

from gristmill.errors import LimitExceeded, Refused, UnknownSession
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.session.files.workspace import make_folder_name
from gristmill.session.key_values import KeyValueRules, KeyValueStore, forget_values
from gristmill.session.session_endings import SessionEndings
from gristmill.session.session_register import (
    TOUCH_SECONDS,
    SessionRecord,
    SessionRegister,
    SessionRetention,
    make_session_key,
    read_generation,
)
from gristmill.session.used_disk import RECENT_SECONDS, UsedDisk
from gristmill.store.base import Store
from tests.unit.session.conftest import Clock

pytestmark = pytest.mark.anyio

ANN = Identity(tenant="acme", caller="ann")
RULES = SessionRetention(seconds=1_000, bytes_per_tenant=100, sessions_per_tenant=5)


def sessions(store: Store, clock: Clock, removed: list[str] | None = None) -> SessionRegister:
    gone = removed if removed is not None else []
    return SessionRegister(
        store, RULES, remove_files=gone.append, forget=lambda record: forget_values(record.handle), clock=clock
    )


async def test_a_session_is_found_again_by_name_and_by_handle(store: Store, clock: Clock) -> None:
    opened = await sessions(store, clock).open("work", identity=ANN)
    again = sessions(store, clock)  # as after a restart
    assert await again.get(opened.handle, identity=ANN) == opened == await again.open("work", identity=ANN)
    assert uuid.UUID(opened.handle).version == 4


@pytest.mark.requirement("T46")
async def test_the_beginning_of_a_handle_finds_the_one_session_of_the_caller(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    one, other = await kept.open("one", identity=ANN), await kept.open("other", identity=LOCAL_IDENTITY)

    assert await kept.find_beginning(one.handle[:8], identity=ANN) == one.handle
    assert await kept.find_beginning(other.handle[:8], identity=ANN) is None
    await kept.open("two", identity=ANN)
    assert await kept.find_beginning("", identity=ANN) is None  # several begin like this


async def test_a_session_without_a_name_is_new_every_time(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    one, other = await kept.open(None, identity=LOCAL_IDENTITY), await kept.open(None, identity=LOCAL_IDENTITY)
    assert (one.handle != other.handle, one.key != other.key) == (True, True)


@pytest.mark.requirement("T46")
async def test_a_handle_is_no_proof_to_another_tenant_or_caller(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    opened = await kept.open("work", identity=ANN)
    answers: set[str] = set()
    for handle, tenant, caller in ((opened.handle, "evil", "ann"), (opened.handle, "acme", "bob"), ("nonsense", "evil", "ann")):
        with pytest.raises(UnknownSession) as unknown:
            await kept.get(handle, identity=Identity(tenant=tenant, caller=caller))
        answers.add(unknown.value.message)
    assert len(answers) == 1  # a stranger cannot tell which


@pytest.mark.requirement("T46")
async def test_the_same_name_in_two_tenants_is_two_sessions(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    one, other = (
        await kept.open("work", identity=Identity(tenant="acme")),
        await kept.open("work", identity=Identity(tenant="evil")),
    )
    assert (one.handle != other.handle, make_folder_name(one.key) != make_folder_name(other.key)) == (True, True)
    assert [each.handle for each in await kept.list(identity=Identity(tenant="acme"))] == [one.handle]


@pytest.mark.requirement("T46")
async def test_another_callers_name_is_refused_also_when_it_was_just_used(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    await kept.open("work", identity=ANN)
    with pytest.raises(Refused) as refused:
        await kept.open("work", identity=Identity(tenant="acme", caller="bob"))
    assert refused.value.rule == "session.owner"


def test_without_tenants_the_key_is_the_name_and_with_them_never_a_name() -> None:
    assert make_session_key("local", "work") == "work"
    assert make_session_key("a", "b-c") != make_session_key("a-b", "c")


def test_the_key_of_a_session_names_its_generation() -> None:
    generation = str(uuid.uuid4())
    for tenant in ("local", "acme"):
        key = make_session_key(tenant, "x" * 128, generation)
        assert (read_generation(key), generation in make_folder_name(key)) == (generation, True)
        assert read_generation(make_session_key(tenant, "work")) == ""
    assert read_generation(f"~{generation}") == ""  # a generation belongs to a name


async def test_names_that_could_pass_for_another_tenants_key_are_refused(store: Store, clock: Clock) -> None:
    with pytest.raises(Refused):
        await sessions(store, clock).open(make_session_key("acme", "work"), identity=LOCAL_IDENTITY)


async def test_a_use_keeps_a_session_alive(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    used = first = await kept.open("work", identity=LOCAL_IDENTITY)
    for _ in range(3):
        clock.now += 900
        used = await kept.open("work", identity=LOCAL_IDENTITY)
    assert (used.handle, used.expires) == (first.handle, clock.now + 1_000)


async def test_an_expired_handle_is_told_so_before_and_after_it_is_pruned(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    opened = await kept.open("work", identity=LOCAL_IDENTITY)
    clock.now += 1_001
    with pytest.raises(UnknownSession, match="has expired"):
        await kept.get(opened.handle, identity=LOCAL_IDENTITY)
    assert ([each.name for each in await kept.prune()], removed) == (["work"], [opened.key])
    with pytest.raises(UnknownSession, match="has expired"):
        await kept.get(opened.handle, identity=LOCAL_IDENTITY)
    clock.now += 1_001
    await kept.prune()
    with pytest.raises(UnknownSession, match="no session of that handle"):
        await kept.get(opened.handle, identity=LOCAL_IDENTITY)


async def test_a_name_opened_after_it_expired_is_a_new_session_without_the_old_files(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    old = await kept.open("work", identity=LOCAL_IDENTITY)
    await KeyValueStore(store, KeyValueRules(bytes=100, keys=5)).set(old.handle, "k", 1)
    clock.now += 1_001
    new = await kept.open("work", identity=LOCAL_IDENTITY)
    assert (new.handle != old.handle, removed) == (True, [old.key])
    assert await store.read("SELECT * FROM session_values") == []


async def test_deleting_takes_files_and_values_along_and_nobody_elses(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept, values = sessions(store, clock, removed), KeyValueStore(store, KeyValueRules(bytes=100, keys=5))
    one, other = await kept.open("one", identity=LOCAL_IDENTITY), await kept.open("other", identity=LOCAL_IDENTITY)
    for each in (one, other):
        await values.set(each.handle, "k", each.name)
    await kept.delete(one)
    assert removed == [one.key]
    assert (await values.keys(one.handle), await values.keys(other.handle)) == ((), ("k",))
    assert [each.name for each in await kept.list(identity=LOCAL_IDENTITY)] == ["other"]


async def test_too_much_is_pruned_from_its_own_tenant_used_longest_ago_first(store: Store, clock: Clock) -> None:
    removed: list[str] = []
    kept = sessions(store, clock, removed)
    sizes: dict[str, int] = {}
    keys: dict[str, str] = {}
    for name, tenant, size in (("old", "full", 60), ("new", "full", 60), ("empty", "full", 0), ("other", "small", 90)):
        keys[name] = (await kept.open(name, identity=Identity(tenant=tenant))).key
        sizes[keys[name]] = size
        clock.now += 1
    assert [each.name for each in await kept.prune(size_of=lambda key: sizes[key])] == ["old"]
    assert removed == [keys["old"]]


async def test_one_tenant_cannot_take_the_sessions_of_another(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    for number in range(5):
        await kept.open(f"s{number}", identity=Identity(tenant="greedy"))
    with pytest.raises(LimitExceeded):
        await kept.open("one more", identity=Identity(tenant="greedy"))
    assert (await kept.open("mine", identity=Identity(tenant="modest"))).name == "mine"


async def test_uses_in_quick_succession_are_not_all_written(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    first = await kept.open("work", identity=LOCAL_IDENTITY)
    clock.now += TOUCH_SECONDS - 1
    assert (await kept.open("work", identity=LOCAL_IDENTITY)).used == first.used
    clock.now += 1
    assert (await kept.open("work", identity=LOCAL_IDENTITY)).used == clock.now


async def _tell_two_processes(store: Store) -> None:
    await store.write(*(("INSERT INTO instances (id, seen) VALUES (?, 0)", (process,)) for process in ("here", "there")))


@pytest.mark.requirement("T130")
async def test_a_session_deleted_through_one_process_is_gone_in_the_other_at_its_next_use(store: Store, clock: Clock) -> None:
    here, there = sessions(store, clock), sessions(store, clock)
    old = await here.open("work", identity=ANN)
    assert (await there.open("work", identity=ANN)).key == old.key
    await there.delete(old)
    new = await here.open("work", identity=ANN)  # within the time in which a use is not written
    assert (new.handle != old.handle, new.key != old.key, make_folder_name(new.key) != make_folder_name(old.key)) == (True,) * 3


@pytest.mark.requirement("T131")
async def test_a_name_that_another_caller_opens_anew_leads_to_another_folder_in_every_process(store: Store, clock: Clock) -> None:
    here, there = sessions(store, clock), sessions(store, clock)
    old = await here.open("work", identity=ANN)
    await there.delete(old)
    bob = Identity(tenant="acme", caller="bob")
    keys = {(await register.open("work", identity=bob)).key for register in (here, there)}
    assert (len(keys), old.key in keys) == (1, False)


@pytest.mark.requirement("T130")
async def test_a_deleted_session_is_being_deleted_until_every_process_has_confirmed(store: Store, clock: Clock) -> None:
    kept, endings = sessions(store, clock), SessionEndings(store)
    await _tell_two_processes(store)
    opened = await kept.open("work", identity=ANN)
    assert await kept.delete(opened) == 2
    assert await endings.list_unconfirmed() == {"here": {opened.handle}, "there": {opened.handle}}
    assert [each.handle for each in await kept.list_deleting(identity=ANN)] == [opened.handle]
    assert await kept.list_deleting(identity=Identity(tenant="evil"), whole_tenant=True) == ()
    with pytest.raises(UnknownSession, match="no session of that handle"):
        await kept.get(opened.handle, identity=ANN)
    await endings.confirm("here", [opened.handle])
    assert [each.handle for each in await kept.list_deleting(identity=ANN)] == [opened.handle]
    await endings.confirm("there", [opened.handle])
    assert (await kept.list_deleting(identity=ANN), await store.read("SELECT * FROM sessions")) == ((), [])


async def test_an_expired_session_is_told_to_every_process_and_stays_on_record(store: Store, clock: Clock) -> None:
    kept, endings = sessions(store, clock), SessionEndings(store)
    await _tell_two_processes(store)
    opened = await kept.open("work", identity=ANN)
    clock.now += 1_001
    await kept.open("work", identity=ANN)
    assert await endings.list_unconfirmed() == {"here": {opened.handle}, "there": {opened.handle}}
    assert [each.key for each in await kept.list_ended([opened.handle])] == [opened.key]
    for process in ("here", "there"):
        await endings.confirm(process, [opened.handle])
    assert await kept.list_deleting(identity=ANN) == ()
    with pytest.raises(UnknownSession, match="has expired"):
        await kept.get(opened.handle, identity=ANN)


@pytest.mark.requirement("T132")
async def test_of_eight_that_create_one_name_one_succeeds(store: Store, clock: Clock) -> None:
    kept = [sessions(store, clock) for _ in range(8)]
    made = await asyncio.gather(*(each.create("branch", identity=ANN) for each in kept), return_exceptions=True)
    refused = [each.rule for each in made if isinstance(each, Refused)]
    assert (refused, len(await kept[0].list(identity=ANN))) == (["session.exists"] * 7, 1)


async def test_a_listing_has_pages_and_only_the_sessions_of_its_owner(store: Store, clock: Clock) -> None:
    kept = sessions(store, clock)
    for name, caller in (("a", "ann"), ("b", "bob"), ("c", "ann"), ("d", "ann")):
        await kept.open(name, identity=Identity(tenant="acme", caller=caller))
    await kept.open("e", identity=Identity(tenant="evil", caller="ann"))
    names: list[str] = []
    page = await kept.list(identity=ANN, limit=2)
    while page:
        names += [each.name for each in page]
        page = await kept.list(identity=ANN, limit=2, after=page[-1])
    assert (sorted(names), len(await kept.list(identity=ANN, whole_tenant=True))) == (["a", "c", "d"], 4)


@pytest.mark.requirement("T116", "T137")
async def test_results_of_executions_without_a_session_have_a_short_life_and_places_of_their_own(
    store: Store, clock: Clock
) -> None:
    removed: list[str] = []
    rules = SessionRetention(seconds=1_000, bytes_per_tenant=100, sessions_per_tenant=2, results_per_tenant=3)
    kept = SessionRegister(store, rules, remove_files=removed.append, clock=clock)
    for name in ("one", "two"):
        await kept.open(name, identity=ANN)
    results: list[SessionRecord] = []
    for number in range(5):  # the tenant has no place for a session left, and no result is lost to that
        clock.now += 1
        results.append(await kept.open(f"run{number}", identity=ANN, life=60))
    assert removed == [results[0].key, results[1].key]  # the oldest make room
    assert (await kept.open("run4", identity=ANN)).expires == results[4].used + 60
    with pytest.raises(LimitExceeded):
        await kept.open("three", identity=ANN)
    clock.now += 61
    assert {each.name for each in await kept.prune_results()} == {"run2", "run3", "run4"}
    assert {each.name for each in await kept.list(identity=ANN)} == {"one", "two"}


@pytest.mark.requirement("T116", "T138")
async def test_the_disk_of_a_tenant_that_has_used_sessions_is_limited_as_it_fills(store: Store, clock: Clock) -> None:
    sizes: dict[str, int] = {}
    measured: list[str] = []

    def measure(key: str) -> int:
        measured.append(key)
        return sizes.get(key, 0)

    used = UsedDisk(measure, clock)
    kept = SessionRegister(store, RULES, remove_files=lambda _: None, clock=clock, note_use=used.note_use)
    opened: list[SessionRecord] = []
    for number in range(3):
        clock.now += 1
        opened.append(await kept.open(f"s{number}", identity=ANN))
        sizes[opened[-1].key] = 60
    other = await kept.open("mine", identity=Identity(tenant="other"))
    clock.now += RECENT_SECONDS + 1
    await kept.open("s2", identity=ANN)
    assert used.list_recent_tenants() == {"acme"}
    gone = await kept.prune(size_of=used.read_size, tenants=used.list_recent_tenants())
    assert ([each.name for each in gone], other.key in measured) == (["s0", "s1"], False)
    measured.clear()
    await kept.prune(size_of=used.read_size, tenants=used.list_recent_tenants())
    assert measured == [opened[2].key]
    clock.now += RECENT_SECONDS + 1
    assert used.list_recent_tenants() == frozenset()
