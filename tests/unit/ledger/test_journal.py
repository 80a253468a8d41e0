"""What a journal keeps: what calls came to, unreadable at rest, and never two senders of one call."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gristmill.errors import CallRefused, NotFound
from gristmill.ledger.journal import Journal, JournalEntry, RunRecord
from gristmill.model import Identity
from gristmill.store.database import Database
from gristmill.store.open_store import open_store

pytestmark = pytest.mark.anyio

WRITE = JournalEntry(root="e1", hash="h", occurrence=0, tool="files.write", reads=False, arguments={"path": "a"})
RUN = RunRecord(id="e1", root="e1", session="s", owner=Identity(caller="ann"), code="secret_code()", status="running")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Backwards:
    """A seal that anybody could open, but that tells whether it was used, and where."""

    def seal(self, plain: bytes, place: str) -> bytes:
        return f"{place}|".encode() + plain[::-1]

    def open(self, sealed: bytes, place: str) -> bytes:
        assert sealed.startswith(f"{place}|".encode())
        return sealed[len(place) + 1 :][::-1]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Database]:
    store = await open_store(tmp_path)
    yield store
    await store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(store: Database, clock: Clock) -> Journal:
    return Journal(store, Backwards(), clock)


async def _states(journal: Journal, store: Database) -> list[tuple[str, object]]:
    await store.flush()
    return [(entry.state, entry.value) for entry in await journal.load_calls("e1")]


async def test_an_answer_is_there_when_the_run_is_taken_up_again(journal: Journal, store: Database) -> None:
    await journal.record_sent(WRITE)
    journal.record_done(WRITE, {"id": [1, "ü"]})
    assert await _states(journal, store) == [("done", {"id": [1, "ü"]})]


async def test_a_call_that_was_sent_and_never_answered_is_left_open(journal: Journal, store: Database) -> None:
    await journal.record_sent(WRITE)
    assert await _states(journal, store) == [("sent", None)]


async def test_a_failed_call_may_be_sent_again(journal: Journal, store: Database) -> None:
    await journal.record_sent(WRITE)
    journal.record_failed(WRITE)
    (failed,) = await _loaded(journal, store)
    assert failed.state == "failed"
    await journal.record_sent(replace(WRITE, attempt=failed.attempt))
    journal.record_done(failed, "now it is")
    assert await _states(journal, store) == [("done", "now it is")]


async def test_two_who_resume_the_same_run_cannot_both_send_a_call(journal: Journal) -> None:
    await journal.record_sent(WRITE)
    with pytest.raises(CallRefused):
        await journal.record_sent(WRITE)
    await journal.record_sent(replace(WRITE, attempt=1))
    with pytest.raises(CallRefused):
        await journal.record_sent(replace(WRITE, attempt=1))


async def test_what_was_answered_is_never_sent_again(journal: Journal, store: Database) -> None:
    await journal.record_sent(WRITE)
    journal.record_done(WRITE, 1)
    with pytest.raises(CallRefused):
        await journal.record_sent(replace(WRITE, attempt=1))


async def test_the_same_call_twice_in_a_program_is_two_entries(journal: Journal, store: Database) -> None:
    for occurrence in (0, 1):
        entry = replace(WRITE, occurrence=occurrence)
        await journal.record_sent(entry)
        journal.record_done(entry, occurrence)
    assert sorted(await _states(journal, store), key=str) == [("done", 0), ("done", 1)]


async def test_reads_are_kept_without_being_announced(journal: Journal, store: Database) -> None:
    journal.record_done(replace(WRITE, reads=True), [1])
    assert await _states(journal, store) == [("done", [1])]


async def test_code_and_answers_cannot_be_read_in_the_file(journal: Journal, store: Database, tmp_path: Path) -> None:
    journal.note_run(RUN)
    journal.record_done(WRITE, "card 4111")
    await store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret_code" not in kept
    assert b"card 4111" not in kept
    assert json.dumps({"path": "a"}, separators=(",", ":")).encode() in kept, "the masked part is for people"


async def test_a_run_is_found_with_its_code_and_how_it_ended(journal: Journal, store: Database) -> None:
    journal.note_run(RUN)
    journal.note_run(replace(RUN, status="failed"))
    await store.flush()
    assert await journal.find_run("e1") == replace(RUN, status="failed")


async def test_a_run_of_which_nothing_is_kept_is_not_found(journal: Journal) -> None:
    with pytest.raises(NotFound):
        await journal.find_run("e9")


async def test_old_runs_are_forgotten_as_a_whole(journal: Journal, store: Database, clock: Clock) -> None:
    journal.note_run(RUN)
    journal.record_done(WRITE, 1)
    clock.now += 100
    journal.note_run(replace(RUN, id="e2", root="e2"))
    journal.record_done(replace(WRITE, root="e2"), 2)
    await store.flush()
    await journal.prune(1050.0)
    assert await journal.load_calls("e1") == ()
    assert len(await journal.load_calls("e2")) == 1
    with pytest.raises(NotFound):
        await journal.find_run("e1")


async def _loaded(journal: Journal, store: Database) -> tuple[JournalEntry, ...]:
    await store.flush()
    return await journal.load_calls("e1")
