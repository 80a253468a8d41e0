"""Kept outcomes: those of the first release are read, those that this version does not know are refused."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gristmill.errors import StoreUnavailable
from gristmill.ledger import kept_outcomes
from gristmill.ledger.kept_outcomes import OUTCOME_FORMAT, KeptOutcomes
from gristmill.ledger.record_formats import mark_format
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import Identity, Outcome
from gristmill.store.database import Database
from gristmill.store.open_store import open_store

pytestmark = pytest.mark.anyio
SEAL = RecordSeal(b"k" * 32)
OUTCOME = Outcome(
    id="e", status="ok", success=True, output="", result=[1], error=None, error_type=None, limit=None, execution_time_ms=1.0,
    memory_mb=1.0, tools_called=(), isolation="namespaces", truncated=False, state="fresh",
)  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Database]:
    store = await open_store(tmp_path)
    yield store
    await store.close()


async def put(store: Database, record: bytes) -> None:
    await store.write(("UPDATE outcomes SET outcome = ?", (SEAL.seal(record, "outcome/e"),)))


async def test_an_outcome_is_kept_and_one_of_the_first_release_is_read(store: Database) -> None:
    kept = KeptOutcomes(store, SEAL, lambda: 1.0)
    await kept.keep(OUTCOME, identity=Identity(caller="ann"))
    assert await kept.find("e", identity=Identity(caller="ann")) == OUTCOME
    await put(store, msgspec.json.encode(OUTCOME))
    assert await kept.find("e", identity=Identity(caller="ann")) == OUTCOME


@pytest.mark.parametrize(
    "record", [mark_format(OUTCOME_FORMAT + 1, msgspec.json.encode(OUTCOME)), b"{}", b'{"id": 1}', b"nonsense"]
)
async def test_an_outcome_that_is_not_understood_is_refused_and_never_half_read(store: Database, record: bytes) -> None:
    kept = KeptOutcomes(store, SEAL, lambda: 1.0)
    await kept.keep(OUTCOME, identity=Identity(caller="ann"))
    await put(store, record)
    with pytest.raises(StoreUnavailable, match="the outcome of execution e"):
        await kept.find("e", identity=Identity(caller="ann"))


@pytest.mark.requirement("T114")
async def test_an_outcome_past_the_cap_is_kept_without_its_content_and_says_so(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_outcomes, "MOST_BYTES", 10_000)
    kept = KeptOutcomes(store, SEAL, lambda: 1.0)
    await kept.keep(replace(OUTCOME, result="x" * 20_000), identity=Identity(caller="ann"))
    found = await kept.find("e", identity=Identity(caller="ann"))
    assert found is not None
    assert (found.status, found.result, found.truncated) == ("ok", None, True)
    assert "too many to be kept" in found.advice[0]


@pytest.mark.requirement("T134")
async def test_the_oldest_outcomes_of_a_tenant_make_room_and_those_of_others_stay(store: Database) -> None:
    times = iter(range(1_000))
    kept = KeptOutcomes(store, SEAL, lambda: float(next(times)), tenant_bytes=100_000)
    greedy, modest = Identity(tenant="greedy"), Identity(tenant="modest")
    await kept.keep(replace(OUTCOME, id="mine"), identity=modest)
    for number in range(8):
        await kept.keep(replace(OUTCOME, id=f"e{number}", output="x" * 30_000), identity=greedy)
        await kept.keep(replace(OUTCOME, id=f"e{number}", output="y" * 30_000), identity=greedy)  # the same again
    assert [await kept.find(name, identity=greedy) is not None for name in ("e0", "e7")] == [False, True]
    assert await kept.find("mine", identity=modest) is not None
    counted = "SELECT tenant, bytes FROM tenant_bytes WHERE kind = 'outcomes' ORDER BY tenant"
    summed = "SELECT tenant, sum(length(outcome)) FROM outcomes GROUP BY tenant ORDER BY tenant"
    assert await store.read(counted) == await store.read(summed)
    assert sum(int(row[1] or 0) for row in await store.read(counted)) < 102_000
    await kept.prune(1_000)
    assert await store.read(counted) == [("greedy", 0), ("modest", 0)]


async def test_an_outcome_that_nobody_was_promised_is_kept_and_a_long_one_is_cut(store: Database) -> None:
    kept = KeptOutcomes(store, SEAL, lambda: 1.0, noted_bytes=4_000)
    ann = Identity(caller="ann")
    kept.note(OUTCOME, identity=ann)
    kept.note(OUTCOME, identity=ann)  # once more: counted once
    long = replace(OUTCOME, id="long", output="o" * 9_000, result=["r" * 9_000])
    kept.note(long, identity=ann)
    await store.flush()
    assert await kept.find("e", identity=ann) == OUTCOME
    assert await kept.find("e", identity=Identity(caller="bob")) is None
    found = await kept.find("long", identity=ann)
    assert found is not None
    assert (found.result, found.truncated, len(found.output)) == (None, True, 1_000 + len("\n... (the rest is not kept)"))
    assert "records.outcome_kb" in found.advice[-1]
    ((counted, summed),) = await store.read(
        "SELECT bytes, (SELECT sum(size) FROM outcomes) FROM tenant_bytes WHERE kind = 'outcomes'"
    )
    assert counted == summed


async def test_outcomes_that_nobody_was_promised_make_room_for_each_other(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_outcomes, "NOTED_BETWEEN_BYTES", 1)
    kept = KeptOutcomes(store, SEAL, lambda: 1.0, tenant_bytes=5_000, noted_bytes=4_000)
    ann = Identity(caller="ann")
    for number in range(40):
        kept.note(replace(OUTCOME, id=f"e{number:02d}"), identity=ann)
        await store.flush()
        await asyncio.sleep(0)
    await kept.keep(OUTCOME, identity=ann)
    ((counted,),) = await store.read("SELECT bytes FROM tenant_bytes WHERE kind = 'outcomes'")
    assert isinstance(counted, int)
    assert 0 < counted <= 5_000
    assert await kept.find("e00", identity=ann) is None
    nothing = KeptOutcomes(store, SEAL, lambda: 1.0, noted_bytes=0)
    nothing.note(replace(OUTCOME, id="none"), identity=ann)
    await store.flush()
    assert await nothing.find("none", identity=ann) is None
