"""The journal: every call of a run and its result, kept so that the run can be resumed without repeating a call.

A chain of resumed executions shares the journal of the first one, its root. Text that people may read is masked; results are
sealed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.errors import CallRefused, Conflict, NotFound, StoreUnavailable
from gristmill.ledger.journal_sizes import RunSize, choose_excess
from gristmill.ledger.record_formats import UNMARKED_FORMAT, mark_format, split_format
from gristmill.model import LOCAL_IDENTITY, Identity, Json, Language
from gristmill.store.base import Row, Statement, Store, Transaction, Value

State = Literal["sent", "done", "failed"]

PROGRAM_FORMAT = 2
"""The format of a run's program. A new way to hash calls needs a new number, too: calls on record are found by their hash."""
VALUE_FORMAT = 2
"""The format of a call's result."""
MOST_NAMED_WRITES = 20
"""Most tools that an error names."""
_CLAIMED_BY = "claimed by "
"""The beginning of the status of a run that a process has claimed, and that has not begun."""

_PUT_RUN = """INSERT INTO runs (id, root, session, caller, tenant, code, status, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status"""
_CLAIM_RUN = f"""{_PUT_RUN}, created = excluded.created, root = excluded.root, session = excluded.session, code = excluded.code"""
_ADD_CALL = """INSERT INTO journal (root, hash, occurrence, tool, reads, arguments, state, attempt, value, changed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT_ENDING = f"{_ADD_CALL} ON CONFLICT (root, hash, occurrence) DO UPDATE SET state = excluded.state, value = excluded.value"
_PUT_SENT_ONCE = f"""{_ADD_CALL} ON CONFLICT (root, hash, occurrence)
    DO UPDATE SET state = excluded.state, attempt = excluded.attempt, changed = excluded.changed
    WHERE journal.attempt = excluded.attempt - 1 AND journal.state <> 'done' RETURNING attempt"""
"""Lets only one process send a call again: the row must still have the attempt that this process has seen."""
_PUT_SENT = f"{_ADD_CALL} ON CONFLICT (root, hash, occurrence) DO UPDATE SET state = excluded.state, attempt = excluded.attempt"


class RecordSealer(Protocol):
    """Encrypts bytes for storage; ``place`` binds them to the place where they belong."""

    def seal(self, plain: bytes, place: str) -> bytes: ...
    def open(self, sealed: bytes, place: str) -> bytes: ...


class JournalEntry(Struct, frozen=True, kw_only=True):
    """One call of a run; its ``arguments`` are masked. ``attempt`` counts how often it was sent before."""

    root: str
    hash: str
    occurrence: int
    tool: str
    reads: bool
    arguments: Mapping[str, Json]
    announced: bool = True
    """Whether the call is written down before it leaves."""
    state: State = "sent"
    attempt: int = 0
    value: Json = None

    @property
    def seal_place(self) -> str:
        """Returns the place that the result is sealed for."""
        return f"journal/{self.root}/{self.hash}/{self.occurrence}"


class RunRecord(Struct, frozen=True, kw_only=True):
    """An execution that can be resumed."""

    id: str
    root: str
    session: str | None
    code: str
    status: str
    owner: Identity = LOCAL_IDENTITY
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    language: Language | None = None
    lacks_context: bool = False
    """Whether an early version recorded it without its context: its own ``code``, which is empty here, must not be run."""


class RunClaim(Struct, frozen=True, kw_only=True):
    """The last claim on an execution: when it was made, and by which process, as long as nothing later is on record."""

    time: float
    process: str | None = None


class Journal:
    """The journal of all runs. ``clock`` returns wall time."""

    def __init__(self, store: Store, seal: RecordSealer, clock: Callable[[], float]) -> None:
        self._store, self._seal, self._clock = store, seal, clock
        self._written = 0

    def note_run(self, run: RunRecord) -> None:
        """Records that an execution began, or how it ended, without waiting for the store."""
        if run.status == "running":
            self._store.write_soon(self._build_run_statement(run))  # must be stored before the first call leaves
        else:
            self._store.write_later(self._build_run_statement(run))

    async def store_run(self, run: RunRecord) -> None:
        """Records an execution; when this returns, the record is in the store.

        Raises:
            StoreUnavailable: the record could not be stored.
        """
        await self._store.write(self._build_run_statement(run))

    async def read_claim(self, execution: str) -> RunClaim | None:
        """Returns the last claim on an execution, or when it was first recorded; None if it never was."""
        rows = await self._store.read("SELECT created, status FROM runs WHERE id = ?", execution)
        if not rows:
            return None
        created, status = cast("tuple[float, str]", rows[0])
        return RunClaim(time=created, process=status.removeprefix(_CLAIMED_BY) if status.startswith(_CLAIMED_BY) else None)

    async def claim_run(self, run: RunRecord, before: RunClaim | None, *, process: str) -> bool:
        """Records an execution for ``process`` unless another has since ``before``; returns whether it is in the store.

        Raises:
            StoreUnavailable: the record could not be stored.
        """
        _, values = self._build_run_statement(replace(run, status=f"{_CLAIMED_BY}{process}"))
        created = None if before is None else before.time

        def claim_row(transaction: Transaction) -> bool:
            if _read_created(transaction.run("SELECT created FROM runs WHERE id = ?", run.id)) != created:
                return False
            transaction.run(_CLAIM_RUN, *values)
            return True

        return await self._store.change(claim_row)

    def _build_run_statement(self, run: RunRecord) -> Statement:
        language = {"language": run.language} if run.language is not None else {}
        text = _encode_json({"code": run.code, "context": dict(run.context), **language})
        program = self._seal.seal(mark_format(PROGRAM_FORMAT, text), f"run/{run.id}")
        self._written += len(program)
        return _PUT_RUN, (run.id, run.root, run.session, run.owner.caller, run.owner.tenant, program, run.status, self._clock())

    async def find_run(self, execution: str) -> RunRecord:
        """Returns the execution with this id.

        Raises:
            NotFound: no record of it is kept.
            StoreUnavailable: a newer version recorded it.
        """
        rows = await self._store.read("SELECT id, root, session, caller, tenant, code, status FROM runs WHERE id = ?", execution)
        if not rows:
            raise build_not_kept_error(execution)
        found, root, session, caller, tenant, sealed, status = cast("tuple[Any, ...]", rows[0])
        program = _parse_program(self._seal.open(bytes(sealed), f"run/{found}"), found)
        owner = Identity(tenant=tenant, caller=caller)
        return RunRecord(id=found, root=root, session=session, owner=owner, status=status, **program)

    async def build_no_context_error(self, run: RunRecord) -> Conflict:
        """Builds the error for a run that cannot be resumed by its id alone; it names the writes that are on record."""
        rows = await self._store.read(
            "SELECT tool, state, count(*) FROM journal WHERE root = ? AND reads = 0 AND state <> 'failed' GROUP BY tool, state "
            "ORDER BY tool, state LIMIT ?",
            run.root, MOST_NAMED_WRITES,
        )  # fmt: skip
        writes = ", ".join(_describe_writes(*cast("tuple[str, str, int]", row)) for row in rows)
        return Conflict(
            f"execution {run.id} was recorded by an early version of Gristmill, without its context, and cannot be resumed by "
            f"its id alone. Writes on record: {writes or 'none'}. Do not execute the code anew, which would repeat them: send "
            "the same code, with its context if it had one, together with this `resume`; calls on record are then not made again"
        )

    async def load_calls(self, root: str) -> tuple[JournalEntry, ...]:
        """Returns every call of the runs that share ``root``, in no particular order."""
        rows = await self._store.read(
            "SELECT root, hash, occurrence, tool, reads, arguments, state, attempt, value FROM journal WHERE root = ?", root
        )
        return tuple(self._parse_entry(cast("tuple[Any, ...]", row)) for row in rows)

    async def load_writes(self, root: str) -> tuple[JournalEntry, ...]:
        """Returns the writes of the runs that share ``root``, the last one first."""
        rows = await self._store.read(
            "SELECT root, hash, occurrence, tool, reads, arguments, state, attempt, value FROM journal "
            "WHERE root = ? AND reads = 0 ORDER BY changed DESC, occurrence DESC, hash", root
        )  # fmt: skip
        return tuple(self._parse_entry(cast("tuple[Any, ...]", row)) for row in rows)

    async def has_writes(self, root: str) -> bool:
        """Returns whether a run with this root has made or sent a write."""
        sql = "SELECT 1 FROM journal WHERE root = ? AND reads = 0 AND state <> 'failed' LIMIT 1"
        return bool(await self._store.read(sql, root))

    async def record_sent(self, entry: JournalEntry) -> None:
        """Records that a call is about to leave; when this returns, the record is in the store.

        Raises:
            CallRefused: another process has sent the same call in the meantime.
            StoreUnavailable: the record could not be stored, so the call must not leave.
        """
        values = self._build_call_row(entry, "sent")
        if not await self._store.change(lambda transaction: transaction.run(_PUT_SENT_ONCE, *values), is_brief=True):
            raise CallRefused(f"{entry.tool}: the same run is under way elsewhere", rule="journal.once")

    def record_sent_soon(self, entry: JournalEntry) -> None:
        """Records that a call leaves, without waiting for the store: if no answer comes, the journal shows that it was sent."""
        self._store.write_later((_PUT_SENT, self._build_call_row(entry, "sent")))

    def record_done(self, entry: JournalEntry, value: Json) -> None:
        """Records what a call answered: at once for an announced call, otherwise together with other records soon after."""
        self._write_ending(entry, self._build_call_row(entry, "done", value))

    def record_failed(self, entry: JournalEntry) -> None:
        """Records that a call failed, or never left: it may be made again."""
        self._write_ending(entry, self._build_call_row(entry, "failed"))

    def _write_ending(self, entry: JournalEntry, values: tuple[Value, ...]) -> None:
        if entry.announced:
            self._store.write_soon((_PUT_ENDING, values))
        else:
            self._store.write_later((_PUT_ENDING, values))

    async def prune(self, before: float) -> None:
        """Deletes runs in which nothing has happened since ``before``."""
        await self._store.write(
            ("DELETE FROM journal WHERE root IN (SELECT root FROM runs GROUP BY root HAVING max(created) < ?)", (before,)),
            ("DELETE FROM runs WHERE root IN (SELECT root FROM runs GROUP BY root HAVING max(created) < ?)", (before,)),
        )

    async def shrink(self, most: int) -> None:
        """Deletes runs until the rest has at most ``most`` bytes: of the tenant that has most, those used longest ago first."""
        self._written = 0
        for root in choose_excess(await self._list_sizes(), most):
            await self._store.write(("DELETE FROM journal WHERE root = ?", (root,)), ("DELETE FROM runs WHERE root = ?", (root,)))

    @property
    def written(self) -> int:
        """Returns how many bytes this process has written since the journal was last shrunk."""
        return self._written

    async def _list_sizes(self) -> list[RunSize]:
        programs = await self._store.read("SELECT root, min(tenant), sum(length(code)), max(created) FROM runs GROUP BY root")
        size = "sum(length(arguments) + coalesce(length(value), 0))"
        calls = await self._store.read(f"SELECT root, {size}, max(changed) FROM journal GROUP BY root")  # noqa: S608
        found = {str(root): [str(tenant), int(size or 0), float(at or 0)] for root, tenant, size, at in programs}
        for root, size, at in calls:
            known = found.setdefault(str(root), ["", 0, 0.0])
            found[str(root)] = [known[0], int(known[1]) + int(size or 0), max(float(known[2]), float(at or 0))]
        return [
            RunSize(root=root, tenant=str(tenant), size=int(size), changed=float(at))
            for root, (tenant, size, at) in found.items()
        ]

    def _build_call_row(self, entry: JournalEntry, state: State, answer: Json = None) -> tuple[Value, ...]:
        """Returns the row of a call. Its attempt is one higher than in ``entry``, because the call is sent once more."""
        value = None
        if state == "done":
            value = self._seal.seal(mark_format(VALUE_FORMAT, _encode_json(answer)), entry.seal_place)
        arguments = _encode_json(dict(entry.arguments)).decode()
        self._written += len(arguments) + len(value or b"")
        return (
            entry.root, entry.hash, entry.occurrence, entry.tool, int(entry.reads), arguments, state, entry.attempt + 1,
            value, self._clock(),
        )  # fmt: skip

    def _parse_entry(self, row: tuple[Any, ...]) -> JournalEntry:
        root, digest, occurrence, tool, reads, arguments, state, attempt, sealed = row
        entry = JournalEntry(
            root=root, hash=digest, occurrence=occurrence, tool=tool, reads=bool(reads), arguments=json.loads(arguments),
            state=state, attempt=attempt,
        )  # fmt: skip
        if sealed is None:
            return entry
        opened = self._seal.open(bytes(sealed), entry.seal_place)
        _, content = split_format(opened, newest=VALUE_FORMAT, what=f"the recorded result of {tool}")
        return replace(entry, value=json.loads(content))


def build_not_kept_error(execution: str) -> NotFound:
    """Builds the error for an execution that cannot be resumed."""
    shown = execution[:80]
    return NotFound(
        f"no record of an execution {shown!r} of yours is kept: it made no calls, or is too old. Executing its code anew repeats "
        f"what it wrote; the audit may still show that (`gristmill audit show {shown}`)"
    )


def _parse_program(record: bytes, execution: str) -> dict[str, Any]:
    """Returns code and context. Early versions recorded the text of the program alone, and no mark of a format."""
    number, content = split_format(record, newest=PROGRAM_FORMAT, what=f"the record of execution {execution}")
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if isinstance(found, dict) and set(cast("Any", found)) - {"language"} == {"code", "context"}:
        return cast("dict[str, Any]", found)
    if number == UNMARKED_FORMAT:
        return {"code": "", "lacks_context": True}
    raise StoreUnavailable(f"the record of execution {execution} is damaged; it is not used")


def _describe_writes(tool: str, state: str, count: int) -> str:
    times = f"{count} times " if count > 1 else ""
    return f"{tool} ({times}{'made' if state == 'done' else 'sent, and it is not known whether it was made'})"


def _encode_json(value: Json) -> bytes:
    """Encodes ``value`` as JSON, with the fast encoder where possible: that one rejects lone surrogates."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(value, separators=(",", ":")).encode()


def _read_created(rows: Sequence[Row]) -> float | None:
    return cast("float", rows[0][0]) if rows else None
