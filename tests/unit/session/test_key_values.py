"""Values under keys: kept per session, limited, and JSON."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.errors import LimitExceeded, Refused
from gristmill.model import Identity
from gristmill.session.key_values import KeyValueRules, KeyValueStore, forget_values
from gristmill.session.session_register import SessionRegister, SessionRetention
from gristmill.store.base import Store
from tests.unit.session.conftest import Clock

pytestmark = pytest.mark.anyio

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def values(store: Store, size: int = 1_000_000, keys: int = 5) -> KeyValueStore:
    return KeyValueStore(store, KeyValueRules(bytes=size, keys=keys))


@given(JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
async def test_any_json_comes_back_as_it_was(store: Store, value: object) -> None:
    await values(store).set("s", "k", value)
    assert await values(store).get("s", "k") == (True, value)


async def test_keys_are_listed_replaced_and_deleted(store: Store) -> None:
    kept = values(store)
    for key, value in (("b", 1), ("a", 2), ("b", 3)):
        await kept.set("s", key, value)
    assert (await kept.keys("s"), await kept.get("s", "b")) == (("a", "b"), (True, 3))
    assert (await kept.delete("s", "b"), await kept.delete("s", "b"), await kept.get("s", "b")) == (True, False, (False, None))


@pytest.mark.requirement("T46")
async def test_sessions_do_not_see_each_others_values(store: Store) -> None:
    kept = values(store)
    await kept.set("one", "k", "secret")
    assert (await kept.get("two", "k"), await kept.keys("two"), await kept.delete("two", "k")) == ((False, None), (), False)
    assert await kept.get("one", "k") == (True, "secret")


async def test_what_does_not_fit_is_not_kept(store: Store) -> None:
    kept = values(store, size=100, keys=2)
    with pytest.raises(LimitExceeded) as exceeded:
        await kept.set("s", "k", "x" * 100)
    assert (exceeded.value.limit, await kept.keys("s")) == ("kv_bytes", ())
    for key in ("a", "b"):
        await kept.set("s", key, "x" * 40)
    await kept.set("s", "b", "y" * 40)  # replacing is not adding
    with pytest.raises(LimitExceeded) as exceeded:
        await kept.set("s", "c", 1)
    assert exceeded.value.limit == "kv_keys"


@pytest.mark.parametrize(("key", "value"), [("", 1), ("a\nb", 1), ("x" * 257, 1), ("k", float("nan")), ("k", object())])
async def test_what_is_no_key_or_no_json_is_refused(store: Store, key: str, value: object) -> None:
    with pytest.raises(Refused):
        await values(store).set("s", key, value)


@pytest.mark.requirement("T134")
async def test_a_tenant_has_a_limit_of_bytes_for_the_values_of_all_its_sessions(store: Store, clock: Clock) -> None:
    rules = SessionRetention(seconds=1_000, bytes_per_tenant=100, sessions_per_tenant=100)
    register = SessionRegister(
        store, rules, remove_files=lambda _: None, forget=lambda record: forget_values(record.handle), clock=clock
    )
    kept = KeyValueStore(store, KeyValueRules(bytes=1_000, keys=5, tenant_bytes=1_500))
    opened = [await register.open(f"s{number}", identity=Identity(tenant="greedy")) for number in range(3)]
    other = await register.open("s", identity=Identity(tenant="modest"))
    await kept.set(opened[0].handle, "k", "x" * 700)
    await kept.set(opened[1].handle, "k", "x" * 700)
    await kept.set(opened[1].handle, "k", "y" * 700)  # replaces
    with pytest.raises(LimitExceeded) as exceeded:
        await kept.set(opened[2].handle, "k", "x" * 700)
    assert exceeded.value.limit == "sessions.kv_total_bytes"
    await kept.set(other.handle, "k", "x" * 700)
    await register.delete(opened[0])
    await kept.set(opened[2].handle, "k", "x" * 700)
    await kept.delete(opened[2].handle, "k")
    await register.delete(opened[1])
    assert await store.read("SELECT bytes FROM tenant_bytes WHERE tenant = 'greedy'") == [(0,)]
