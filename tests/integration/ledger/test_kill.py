"""Kill -9 between any two writes: everything acknowledged is there, the chain is whole, nothing sent is forgotten."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditFilter, AuditRecord
from gristmill.ledger.journal import Journal
from gristmill.ledger.record_seal import RecordSeal
from gristmill.store.open_store import open_store

KEY = b"k" * 32
ROUNDS = 15

WRITER = """
import asyncio, sys
from pathlib import Path
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.journal import Journal, JournalEntry, RunRecord
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import Identity
from gristmill.store.open_store import open_store

async def main(folder, run):
    store = await open_store(folder)
    audit, journal = Audit(store, b"k" * 32, folder), Journal(store, RecordSeal(b"k" * 32), lambda: 0.0)
    journal.note_run(RunRecord(id=run, root=run, session=None, owner=Identity(caller="ann"), code="x", status="running"))

    async def call(number):
        entry = JournalEntry(root=run, tool="t.u", hash=str(number), occurrence=0, reads=False, arguments={})
        await journal.record_sent(entry)
        print("sent", number, flush=True)
        journal.record_done(entry, number)
        audit.record(AuditRecord(kind="call", id=f"{run}/{number}", time=0.0, parent=run))
        await audit.flush()
        print("recorded", number, flush=True)

    number = 0
    while True:
        await asyncio.gather(*(call(number + place) for place in range(4)))
        number += 4

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def _killed(folder: Path, run: str, after: int) -> list[str]:
    """What a writer had acknowledged when it was killed, at some point past its ``after``-th word."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder), run], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    heard = [writer.stdout.readline() for _ in range(after)]
    writer.kill()
    heard += writer.stdout.readlines()
    writer.stdout.close()
    writer.wait(30)
    return [line.strip() for line in heard if line.endswith("\n")]


@pytest.mark.requirement("T49")
def test_a_writer_killed_at_any_point_loses_nothing_it_acknowledged_and_leaves_the_chain_whole(tmp_path: Path) -> None:
    heard = {f"run{turn}": _killed(tmp_path, f"run{turn}", random.randint(1, 60)) for turn in range(ROUNDS)}

    assert all(heard.values()), "a writer wrote nothing: then this test would prove nothing"

    async def look() -> None:
        store = await open_store(tmp_path)
        audit, journal = Audit(store, KEY, tmp_path), Journal(store, RecordSeal(KEY), lambda: 0.0)
        verified = await audit.verify()
        assert verified.ok, verified
        for run, lines in heard.items():
            ids = {one.record.id for one in await audit.list(AuditFilter(parent=run), limit=100_000)}
            calls = {call.hash: call.state for call in await journal.load_calls(run)}
            for line in lines:
                word, number = line.split()
                assert (f"{run}/{number}" in ids) if word == "recorded" else (number in calls), (run, line)
            assert set(calls.values()) <= {"done", "sent"}
        await store.close()

    asyncio.run(look())


@pytest.mark.requirement("T49")
@pytest.mark.parametrize("sql", ["DELETE FROM audit WHERE seq = 2", "UPDATE audit SET record = '{}' WHERE seq = 2"])
def test_a_lost_or_edited_record_is_noticed(tmp_path: Path, sql: str) -> None:
    async def look() -> tuple[bool, bool]:
        store = await open_store(tmp_path)
        audit = Audit(store, KEY, tmp_path)
        audit.record(*(AuditRecord(kind="call", id=str(number), time=0.0) for number in range(3)))
        await audit.flush()
        before = (await audit.verify()).ok
        await store.write((sql, ()))
        after = (await audit.verify()).ok
        await store.close()
        return before, after

    assert asyncio.run(look()) == (True, False)


@pytest.mark.requirement("T32")
def test_what_code_says_cannot_become_a_record(tmp_path: Path) -> None:
    forged = '"}\n{"hash":"0","record":{"kind":"approval","id":"forged"},"seq":2}'

    async def look() -> list[str]:
        store = await open_store(tmp_path)
        audit = Audit(store, KEY, tmp_path)
        audit.record(AuditRecord(kind="call", id="1", time=0.0, tool=forged, code=forged, error=forged, arguments=[forged]))
        await audit.flush()
        lines = [line async for line in audit.export()]
        await store.close()
        return lines

    (line,) = asyncio.run(look())
    assert "\n" not in line
