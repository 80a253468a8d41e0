"""What every call of a run came to, kept so that the run can be taken up again without repeating one of them.

A chain of resumed executions shares the journal of the first, its root. What people may read is masked; results are sealed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, Protocol, cast

import msgspec

from gristmill.errors import CallRefused, NotFound
from gristmill.model import Json
from gristmill.store.base import Row, Statement, Store, Transaction, Value
from gristmill.values import dataclass

State = Literal["sent", "done", "failed"]

TABLES = (
    """CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, root TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, tenant TEXT NOT NULL, code BYTEA NOT NULL,
        status TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS runs_root ON runs (root, created)",
    """CREATE TABLE IF NOT EXISTS journal (
        root TEXT NOT NULL, hash TEXT NOT NULL, occurrence INTEGER NOT NULL, tool TEXT NOT NULL, reads INTEGER NOT NULL,
        arguments TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, value BYTEA, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (root, hash, occurrence))""",
    "CREATE INDEX IF NOT EXISTS journal_at ON journal (at)",
)


_BEGAN = """INSERT INTO runs (id, root, session, caller, tenant, code, status, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status"""
_CLAIMED = f"""{_BEGAN}, created = excluded.created, root = excluded.root, session = excluded.session, code = excluded.code"""
_INSERT = """INSERT INTO journal (root, hash, occurrence, tool, reads, arguments, state, attempt, value, at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_KEEP = f"{_INSERT} ON CONFLICT (root, hash, occurrence) DO UPDATE SET state = excluded.state, value = excluded.value"
_SENT_ONCE = f"""{_INSERT} ON CONFLICT (root, hash, occurrence)
    DO UPDATE SET state = excluded.state, attempt = excluded.attempt, at = excluded.at
    WHERE journal.attempt = excluded.attempt - 1 AND journal.state <> 'done' RETURNING attempt"""
"""Whoever looked before us and decided to send it again must be the only one: the attempt tells."""
_SENT = f"{_INSERT} ON CONFLICT (root, hash, occurrence) DO UPDATE SET state = excluded.state, attempt = excluded.attempt"


class Sealer(Protocol):
    """Makes bytes unreadable at rest; ``place`` binds them to where they belong."""

    def seal(self, plain: bytes, place: str) -> bytes: ...
    def open(self, sealed: bytes, place: str) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One call of a run; ``arguments`` as people may see them. ``attempt`` counts how often it was sent before."""

    root: str
    hash: str
    occurrence: int
    tool: str
    reads: bool
    arguments: Mapping[str, Json]
    announced: bool = True
    """It was, or is to be, written down before it left."""
    state: State = "sent"
    attempt: int = 0
    value: Json = None

    @property
    def place(self) -> str:
        """Where its result is sealed for."""
        return f"journal/{self.root}/{self.hash}/{self.occurrence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """An execution that can be resumed."""

    id: str
    root: str
    session: str | None
    caller: str
    code: str
    status: str
    tenant: str = "local"
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Journal:
    """The journal of all runs. ``clock`` is wall time."""

    def __init__(self, store: Store, seal: Sealer, clock: Callable[[], float]) -> None:
        self._store, self._seal, self._clock = store, seal, clock

    def began(self, run: RunRecord) -> None:
        """Note that an execution began, or how it ended; kept soon."""
        if run.status == "running":
            self._store.write_soon(self._row(run))  # before its first call leaves
        else:
            self._store.write_later(self._row(run))

    async def keep(self, run: RunRecord) -> None:
        """Note an execution; when this returns it is kept.

        Raises:
            StoreUnavailable: it is not.
        """
        await self._store.write(self._row(run))

    async def created(self, execution: str) -> float | None:
        """When an execution was first noted, or claimed anew; none if it never was."""
        rows = await self._store.read("SELECT created FROM runs WHERE id = ?", execution)
        return _created(rows)

    async def claim(self, run: RunRecord, created: float | None) -> bool:
        """Note an execution, unless somebody else has since it was ``created``; when this returns it is kept.

        Raises:
            StoreUnavailable: it is not.
        """
        _, values = self._row(run)

        def work(transaction: Transaction) -> bool:
            if _created(transaction.run("SELECT created FROM runs WHERE id = ?", run.id)) != created:
                return False
            transaction.run(_CLAIMED, *values)
            return True

        return await self._store.change(work)

    def _row(self, run: RunRecord) -> Statement:
        program = self._seal.seal(_json({"code": run.code, "context": dict(run.context)}), f"run/{run.id}")
        return _BEGAN, (run.id, run.root, run.session, run.caller, run.tenant, program, run.status, self._clock())

    async def find(self, execution: str) -> RunRecord:
        """An execution by its id.

        Raises:
            NotFound: nothing is kept of it.
        """
        rows = await self._store.read("SELECT id, root, session, caller, tenant, code, status FROM runs WHERE id = ?", execution)
        if not rows:
            raise nothing_kept(execution)
        found, root, session, caller, tenant, sealed, status = cast("tuple[Any, ...]", rows[0])
        program = _program(self._seal.open(bytes(sealed), f"run/{found}"))
        if program is None:
            raise nothing_kept(execution)
        return RunRecord(id=found, root=root, session=session, caller=caller, tenant=tenant, status=status, **program)

    async def load(self, root: str) -> tuple[Entry, ...]:
        """Every call of the runs of ``root``, in no particular order."""
        rows = await self._store.read(
            "SELECT root, hash, occurrence, tool, reads, arguments, state, attempt, value FROM journal WHERE root = ?", root
        )
        return tuple(self._entry(cast("tuple[Any, ...]", row)) for row in rows)

    async def sent(self, entry: Entry) -> None:
        """Write down that a call is about to leave; when this returns it is kept.

        Raises:
            CallRefused: another process has sent the same call meanwhile.
            StoreUnavailable: it could not be kept, so the call must not leave.
        """
        values = self._values(entry, "sent")
        if not await self._store.change(lambda transaction: transaction.run(_SENT_ONCE, *values), is_brief=True):
            raise CallRefused(f"{entry.tool}: the same run is under way elsewhere", rule="journal.once")

    def sent_soon(self, entry: Entry) -> None:
        """Write down that a call leaves, without waiting for it: should the answer not come, that is known."""
        self._store.write_later((_SENT, self._values(entry, "sent")))

    def done(self, entry: Entry, value: Json) -> None:
        """Write down what a call answered: at once for one that was announced, else with the others of the next moment."""
        self._ended(entry, self._values(entry, "done", value))

    def failed(self, entry: Entry) -> None:
        """Write down that a call failed, or never left: it may be made again."""
        self._ended(entry, self._values(entry, "failed"))

    def _ended(self, entry: Entry, values: tuple[Value, ...]) -> None:
        if entry.announced:
            self._store.write_soon((_KEEP, values))
        else:
            self._store.write_later((_KEEP, values))

    async def prune(self, before: float) -> None:
        """Forget runs of which nothing has happened since ``before``."""
        await self._store.write(
            ("DELETE FROM journal WHERE root IN (SELECT root FROM runs GROUP BY root HAVING max(created) < ?)", (before,)),
            ("DELETE FROM runs WHERE root IN (SELECT root FROM runs GROUP BY root HAVING max(created) < ?)", (before,)),
        )

    async def shrink(self, most: int) -> None:
        """Forget the runs touched longest ago until what is left has no more than ``most`` bytes."""
        size = "sum(length(arguments) + coalesce(length(value), 0))"
        rows = await self._store.read(f"SELECT root, {size} FROM journal GROUP BY root ORDER BY max(at) DESC")  # noqa: S608
        total = 0
        for root, bytes_ in rows:
            total += int(bytes_ or 0)
            if total > most:
                forget = ("DELETE FROM journal WHERE root = ?", (root,)), ("DELETE FROM runs WHERE root = ?", (root,))
                await self._store.write(*forget)

    def _values(self, entry: Entry, state: State, answer: Json = None) -> tuple[Value, ...]:
        """The row of a call that has been sent once more than ``entry`` says."""
        value = None
        if state == "done":
            value = self._seal.seal(_json(answer), entry.place)
        arguments = _json(dict(entry.arguments)).decode()
        return (
            entry.root, entry.hash, entry.occurrence, entry.tool, int(entry.reads), arguments, state, entry.attempt + 1,
            value, self._clock(),
        )  # fmt: skip

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        root, digest, occurrence, tool, reads, arguments, state, attempt, sealed = row
        entry = Entry(
            root=root, hash=digest, occurrence=occurrence, tool=tool, reads=bool(reads), arguments=json.loads(arguments),
            state=state, attempt=attempt,
        )  # fmt: skip
        return replace(entry, value=json.loads(self._seal.open(bytes(sealed), entry.place))) if sealed is not None else entry


def nothing_kept(execution: str) -> NotFound:
    """What is said of an execution that cannot be resumed."""
    return NotFound(
        f"nothing is kept of an execution {execution[:80]!r} of yours: it made no calls, or is too old; execute the code anew"
    )


def _program(text: bytes) -> dict[str, Any] | None:
    """Code and context; none of a program that an older version kept, without what it ran with."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) and set(cast("Any", found)) == {"code", "context"} else None


def _json(value: Json) -> bytes:
    """``value`` as JSON, by the quick encoder where it can: it takes no half characters."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(value, separators=(",", ":")).encode()


def _created(rows: Sequence[Row]) -> float | None:
    return cast("float", rows[0][0]) if rows else None
