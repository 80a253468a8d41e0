"""The audit keeps what happened, shows it as it was, and notices every change, on both stores."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.audit import audit as audit_module
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditFilter, AuditRecord
from gristmill.store.base import Transaction
from gristmill.store.database import Database
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio
KEY = b"k" * 32


def call(number: int, **fields: object) -> AuditRecord:
    given = {
        "id": f"e1/{number}",
        "parent": "e1",
        "time": 1000.0 + number,
        "tool": "crm.find",
        "status": "ok",
        "decision": "deny",
        **fields,
    }
    return AuditRecord(kind="call", **given)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def opened(place: Place, key: bytes = KEY) -> AsyncGenerator[tuple[Audit, Database]]:
    store = await place.open()
    audit = Audit(store, key, place.folder, clock=lambda: 5000.0)
    try:
        yield audit, store
        await audit.close()
    finally:
        await store.close()


async def filled(place: Place, count: int = 20) -> None:
    async with opened(place) as (audit, _):
        audit.record(*(call(number) for number in range(count)))


async def problem(place: Place, *tampering: str, key: bytes = KEY) -> tuple[int | None, str]:
    async with opened(place, key) as (audit, store):
        for sql in tampering:
            await store.write((sql, ()))
        found = await audit.verify()
        assert not found.ok
        return found.first_bad, found.reason or ""


async def test_records_come_back_whole_after_a_restart(place: Place) -> None:
    record = AuditRecord(
        kind="execution", id="e1", time=1.5, tenant="a", session="s", caller="ann", code="print(1)\n", code_hash="h", status="ok",
        arguments={"a": [1, None, "ü"]}, decision="allow", rule="r", error="e", bytes=7, ms=1.25, details={"x": 1}, tool="t.u",
        parent="p",
    )  # fmt: skip
    async with opened(place) as (audit, _):
        audit.record(record)
    async with opened(place) as (audit, _):
        (entry,) = await audit.list()
        assert entry.record == record
        assert (await audit.verify()).records == 1


async def test_an_untouched_chain_is_whole_and_counts_its_records(place: Place) -> None:
    await filled(place, 1200)
    async with opened(place) as (audit, _):
        found = await audit.verify()
    assert (found.ok, found.records, found.reason) == (True, 1200, None)


async def test_an_empty_audit_is_whole(place: Place) -> None:
    async with opened(place) as (audit, _):
        assert (await audit.verify()).ok


async def test_two_processes_extend_one_chain(place: Place) -> None:
    async with opened(place) as (first, _), opened(place) as (second, _):
        for number in range(100):
            (first if number % 2 else second).record(call(number))
            if number % 7 == 0:
                await asyncio.gather(first.flush(), second.flush())
    async with opened(place) as (audit, _):
        assert ((await audit.verify()).ok, len(await audit.list(limit=1000))) == (True, 100)


@pytest.mark.parametrize(
    ("sql", "first_bad"),
    [
        ("UPDATE audit SET record = replace(record, 'crm.find', 'crm.kind') WHERE seq = 7", 7),
        ("UPDATE audit SET record = replace(record, '\"deny\"', '\"allow\"') WHERE seq = 7", 7),
        ("UPDATE audit SET record = replace(record, '\"deny\"', '\"allow\"') WHERE seq = 20", 20),
        ("DELETE FROM audit WHERE seq = 7", 7),
        ("DELETE FROM audit WHERE seq < 7", 1),
        ("DELETE FROM audit WHERE seq > 17", 18),
        ("UPDATE audit SET session = 'other' WHERE seq = 7", 7),
        ("UPDATE audit SET seq = 1007 WHERE seq = 7", 7),
        ("DELETE FROM audit", 1),
        ("DELETE FROM audit_anchors", 21),
    ],
)
async def test_an_edit_is_noticed_and_placed(place: Place, sql: str, first_bad: int) -> None:
    await filled(place)
    assert (await problem(place, sql))[0] == first_bad


async def test_a_cut_tail_with_its_head_removed_is_noticed_by_the_counter_outside(place: Place) -> None:
    await filled(place)
    bad, reason = await problem(place, "DELETE FROM audit", "DELETE FROM audit_anchors")
    assert (bad, "missing at the end" in reason) == (1, True)


async def test_a_chain_written_anew_without_the_key_is_noticed(place: Place) -> None:
    await filled(place)
    async with opened(place) as (_, store):
        await store.write(("DELETE FROM audit", ()), ("DELETE FROM audit_anchors", ()))
    (place.folder / "audit.counter").unlink()
    async with opened(place, b"x" * 32) as (forger, _):
        forger.record(*(call(number, status="forged") for number in range(20)))
    bad, reason = await problem(place)
    assert (bad, "another key" in reason) == (21, True)


async def test_writing_on_after_a_cut_does_not_heal_it(place: Place) -> None:
    await filled(place)
    async with opened(place) as (_, store):
        await store.write(("DELETE FROM audit WHERE seq > 10", ()), ("DELETE FROM audit_anchors", ()))
    async with opened(place) as (audit, _):
        audit.record(call(100))
        await audit.flush()
        assert (await audit.list(AuditFilter(kind="security")))[0].record.rule == "audit.break"
        assert not (await audit.verify()).ok


async def test_whoever_waits_for_his_record_does_not_wait_for_those_of_others(place: Place) -> None:
    async with opened(place) as (audit, store):
        change, count = store.change, 0

        async def change_while_more_comes(work: Callable[[Transaction], Any], *, is_brief: bool = False) -> Any:
            nonlocal count
            if count < 50:
                audit.record(call(count := count + 1))
            return await change(work, is_brief=is_brief)

        store.change = change_while_more_comes
        audit.record(call(0))
        await audit.flush()
        assert count < 50
        assert "e1/0" in [one.record.id for one in await audit.list()]


async def test_pruning_keeps_the_rest_verifiable_and_says_what_went(place: Place) -> None:
    await filled(place, 1100)
    async with opened(place) as (audit, store):
        assert await audit.prune(1000.0 + 1050) == 1050
        assert (await audit.verify()).ok
        newest = (await audit.list(limit=1))[0].record
        assert (newest.rule, newest.details["records"]) == ("audit.prune", 1050)
        await store.write(("DELETE FROM audit WHERE seq = 1051", ()))
        assert (await audit.verify()).first_bad == 1051
        assert await audit.prune(9999.0) == 0


async def test_pruning_leaves_broken_old_records_alone_and_does_not_read_those_that_stay(place: Place) -> None:
    await filled(place, 1100)
    async with opened(place) as (audit, store):
        await store.write(("UPDATE audit SET status = 'failed' WHERE seq = 30", ()))
        assert await audit.prune(1000.0 + 1050) == 0
        await store.write(("UPDATE audit SET status = 'ok' WHERE seq = 30", ()))
        await store.write(("UPDATE audit SET status = 'failed' WHERE seq = 1090", ()))
        assert await audit.prune(1000.0 + 1050) == 1050
        assert (await audit.verify()).first_bad == 1090


async def test_what_is_new_is_verified_without_what_is_old(place: Place) -> None:
    await filled(place, 3500)
    async with opened(place) as (audit, store):
        found = await audit.verify(since=1000.0 + 3200)
        assert (found.ok, found.records) == (True, 500)  # from the last signed place before that time
        await store.write(("UPDATE audit SET status = 'failed' WHERE seq = 10", ()))
        assert (await audit.verify(since=1000.0 + 3200)).ok
        assert (await audit.verify()).first_bad == 10
        await store.write(("UPDATE audit SET status = 'failed' WHERE seq = 3400", ()))
        assert (await audit.verify(since=1000.0 + 3200)).first_bad == 3400
        assert (await audit.verify(since=9999.0)).first_bad == 3400  # the last signed place is before it
        await store.write(("UPDATE audit_anchors SET hash = 'x' WHERE name = 'seq:3000'", ()))
        assert (await audit.verify(since=1000.0 + 3200)).first_bad == 3000


async def test_few_records_of_a_time_are_found_whatever_else_is_asked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(place, 40)
    async with opened(place) as (audit, _):
        wanted = AuditFilter(tenant="local", tool="crm.find", kind="call", since=1010.0, until=1013.0)
        assert [each.record.id for each in await audit.list(wanted)] == ["e1/12", "e1/11", "e1/10"]
        monkeypatch.setattr(audit_module, "MOST_SORTED", 2)  # the way for a time that has many records
        assert [each.record.id for each in await audit.list(wanted)] == ["e1/12", "e1/11", "e1/10"]


async def test_a_prefix_deleted_with_a_forged_note_of_pruning_is_noticed(place: Place) -> None:
    await filled(place)
    forged = "INSERT INTO audit_anchors SELECT 'pruned', seq, hash, '', '' FROM audit WHERE seq = 5"
    assert (await problem(place, forged, "DELETE FROM audit WHERE seq <= 5"))[0] == 5


async def test_an_execution_is_shown_with_its_calls_in_order_and_only_to_its_tenant(place: Place) -> None:
    async with opened(place) as (audit, _):
        audit.record(call(1), call(2, id="other/1", parent="other"), call(3))
        audit.record(AuditRecord(kind="execution", id="e1", time=1.0, code="x"))
        await audit.flush()
        tree = await audit.show("e1", tenant="local")
        assert [child.entry.record.id for child in tree.children] == ["e1/1", "e1/3"]
        with pytest.raises(NotFound):
            await audit.show("e1", tenant="somebody else")


async def test_records_are_found_by_what_they_are(place: Place) -> None:
    async with opened(place) as (audit, _):
        audit.record(call(1), call(2, tool="crmx.find", status="failed"), call(3, tenant="b"))
        audit.record(AuditRecord(kind="security", id="s1", time=1.0, rule="calls.limit"))
        await audit.flush()

        async def ids(**wanted: object) -> list[str]:
            return [one.record.id for one in await audit.list(AuditFilter(**wanted))]  # pyright: ignore[reportArgumentType]

        assert await ids(kind="security") == ["s1"]
        assert await ids(tool="crm") == ["e1/3", "e1/1"]
        assert await ids(tool="crmx.find", status="failed") == ["e1/2"]
        assert await ids(tenant="b") == ["e1/3"]
        assert await ids(since=1001.5, until=1003.0) == ["e1/2"]
        page = await audit.list(limit=2)
        assert [one.seq for one in (*page, *await audit.list(limit=2, after=page[-1].seq))] == [4, 3, 2, 1]


async def test_an_export_can_be_checked_by_anybody(place: Place) -> None:
    await filled(place)
    async with opened(place) as (audit, _):
        lines = [json.loads(line) async for line in audit.export()]
    previous = "0" * 64
    for line in lines:
        text = json.dumps(line["record"], sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(f"{previous}\n{line['seq']}\n{text}".encode()).hexdigest()
        assert line["hash"] == previous
    assert len(lines) == 20


async def test_text_of_strangers_cannot_forge_a_line_or_steer_a_terminal(place: Place) -> None:
    nasty = 'a\x1b[2J\r\n2026 {"kind":"approval"}\u202e\U000e0041\x9b\u2028\ud800\x00'
    async with opened(place) as (audit, _):
        audit.record(call(1, rule=nasty, arguments={nasty: [nasty]}, code="a\n\tb\x1b", session=nasty))
        await audit.flush()
        (entry,) = await audit.list()
        lines = [line async for line in audit.export()]
    record = entry.record
    key = next(iter(record.arguments))
    for text in (record.rule, key, record.arguments[key][0], record.session):
        assert text is not None
        assert text.isprintable()
    assert record.code == "a\n\tb\\x1b"
    assert len(lines) == 1
    assert lines[0].isascii()


async def test_what_is_too_large_is_cut_and_named_by_its_hash(place: Place) -> None:
    async with opened(place) as (audit, _):
        audit.record(call(1, arguments={"x": "y" * 1_000_000}, code="z" * 1_000_000))
        await audit.flush()
        (entry,) = await audit.list()
    assert (entry.record.arguments["truncated"], entry.record.arguments["bytes"]) == (True, 1_000_008)
    assert len(entry.record.code or "") < 201_000
    assert entry.record.code_hash == hashlib.sha256(b"z" * 1_000_000).hexdigest()


async def test_a_store_that_fails_loses_and_doubles_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(place) as (audit, store):
        whole = store.change

        async def answer_lost(work: object) -> None:
            await whole(work)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
            raise StoreUnavailable("lost during the commit")

        async def down(_work: object) -> None:
            raise StoreUnavailable("down")

        for broken in (down, answer_lost):
            monkeypatch.setattr(store, "change", broken)
            audit.record(call(1), call(2))
            with pytest.raises(StoreUnavailable):
                await audit.flush()
            monkeypatch.setattr(store, "change", whole)
            audit.record(call(3))
            await audit.flush()
        assert [one.record.id for one in await audit.list()] == ["e1/3", "e1/2", "e1/1"] * 2
        assert (await audit.verify()).ok


async def test_a_full_queue_refuses_instead_of_forgetting(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "QUEUE_RECORDS", 10)
    async with opened(place) as (audit, _):
        audit.record(*(call(number) for number in range(10)))
        with pytest.raises(StoreUnavailable):
            audit.record(call(11))
        await audit.flush()
        audit.record(call(12))
