"""The register of sessions: whose they are, when they were used, and what goes with them when they end."""

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gristmill.errors import LimitExceeded, Refused, UnknownSession
from gristmill.model import LOCAL
from gristmill.session.files.workspace import folder_name
from gristmill.store.base import Row, Statement, Store, Transaction
from gristmill.values import dataclass

TOUCH_SECONDS = 60.0
"""How often, at most, a use is written down: executions are far more frequent than retention is exact."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS sessions (
        handle TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, name TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, used DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS sessions_by_name ON sessions (tenant, name)",
)
_COLUMNS = "handle, tenant, caller, name, created, used"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One session. ``handle`` is opaque; ``key`` is what its workspace and its interpreter are known by."""

    handle: str
    tenant: str
    caller: str
    name: str
    created: float
    used: float
    expires: float

    @property
    def key(self) -> str:
        """Never the same for two sessions, whatever tenants and names contain."""
        return session_key(self.tenant, self.name)


def session_key(tenant: str, name: str) -> str:
    """The name by which workspaces and interpreters know a session; without tenants that is its own name."""
    if tenant == LOCAL:
        return name
    return f"~{hashlib.sha256(json.dumps([tenant, name]).encode()).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long and how much is kept."""

    seconds: float
    bytes_per_tenant: int
    sessions_per_tenant: int


Forget = Callable[[SessionRecord], Sequence[Statement]]
"""What else is deleted with a session."""


class Sessions:
    """Every session of every tenant. A handle is no proof: each question names the tenant that asks."""

    def __init__(
        self,
        store: Store,
        rules: Retention,
        *,
        remove_files: Callable[[str], None],
        forget: Forget = lambda _: (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``remove_files`` removes the workspace of a key; it is called in a thread."""
        self._store, self._rules, self._clock = store, rules, clock
        self._remove_files, self._forget = remove_files, forget
        self._touched: dict[tuple[str, str], SessionRecord] = {}

    async def open(self, name: str | None, tenant: str = LOCAL, caller: str = LOCAL) -> SessionRecord:
        """The session of that name, or a new one; every opening counts as a use.

        Raises:
            Refused: the name cannot be one, or belongs to another caller.
            LimitExceeded: the tenant has too many sessions.
        """
        known = self._touched.get((tenant, name)) if name is not None else None
        now = self._clock()
        if known and known.caller == caller and now - known.used < min(TOUCH_SECONDS, self._rules.seconds):
            return known
        name = _checked_name(name)
        record, expired = await self._store.change(lambda step: self._opened(step, name, tenant, caller, now))
        if expired:
            # What an expired session left must not come back under its name.
            await asyncio.to_thread(self._remove_files, record.key)
        self._remember(record)
        return record

    async def get(self, handle: str, tenant: str = LOCAL, caller: str | None = None) -> SessionRecord:
        """The session of ``handle``, if it belongs to ``tenant``, and to ``caller`` where one is named.

        Raises:
            UnknownSession: it does not, it has expired, or there never was one; a stranger cannot tell which.
        """
        rows = await self._store.read(f"SELECT {_COLUMNS}, ended FROM sessions WHERE handle = ? AND tenant = ?", handle, tenant)  # noqa: S608 - our own words
        if not rows or (caller is not None and rows[0][2] != caller):
            raise UnknownSession("there is no session of that handle; open one by name, or without a name for a new one")
        record, ended = self._record(rows[0][:6]), rows[0][6]
        if ended is not None or record.expires <= self._clock():
            raise UnknownSession(self._expired(record))
        return record

    async def named(self, name: str, tenant: str = LOCAL) -> SessionRecord:
        """The live session of that name.

        Raises:
            UnknownSession: there is none, or it has expired.
        """
        for record in await self.list(tenant):
            if record.name == name:
                return record
        raise UnknownSession(f"there is no session {name[:80]!r}, or it has expired")

    async def list(self, tenant: str | None = LOCAL, caller: str | None = None) -> tuple[SessionRecord, ...]:
        """The live sessions of a tenant, the one used last in front; of all tenants for ``None``."""
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM sessions WHERE ended IS NULL ORDER BY used DESC, name")  # noqa: S608 - our own words
        found = [self._record(row) for row in rows]
        now = self._clock()
        return tuple(
            each for each in found
            if each.expires > now and tenant in (None, each.tenant) and caller in (None, each.caller)
        )  # fmt: skip

    async def delete(self, record: SessionRecord) -> None:
        """End a session: its files, its values and its skills of level `session` go with it."""
        await self._end(record)
        await self._store.write(("DELETE FROM sessions WHERE handle = ?", (record.handle,)))

    async def prune(self, now: float | None = None, size_of: Callable[[str], int] = lambda _: 0) -> tuple[SessionRecord, ...]:
        """Delete what is too old, then per tenant what is too much, used longest ago first.

        ``size_of`` measures the files of a key; it is called in a thread.
        """
        now = self._clock() if now is None else now
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM sessions WHERE ended IS NULL ORDER BY used, handle")  # noqa: S608 - our own words
        records = [self._record(row) for row in rows]
        gone = [record for record in records if record.expires <= now]
        for tenant in sorted({record.tenant for record in records}):
            kept = [record for record in records if record.tenant == tenant and record.expires > now]
            gone += await asyncio.to_thread(_too_much, kept, self._rules.bytes_per_tenant, size_of)
        for record in gone:
            await self._end(record)
        # Their handles are remembered for as long again, so that an answer can say what became of them.
        forgotten = ("DELETE FROM sessions WHERE ended IS NOT NULL AND ended < ?", (now - self._rules.seconds,))
        await self._store.write(forgotten)
        return tuple(gone)

    async def _end(self, record: SessionRecord) -> None:
        self._touched.pop((record.tenant, record.name), None)
        # The files first: a crash in between leaves a session that is deleted again, not files without one.
        await asyncio.to_thread(self._remove_files, record.key)
        ended = ("UPDATE sessions SET ended = ? WHERE handle = ?", (self._clock(), record.handle))
        await self._store.write(ended, *self._forget(record))

    def _opened(self, step: Transaction, name: str, tenant: str, caller: str, now: float) -> tuple[SessionRecord, bool]:
        found = f"SELECT {_COLUMNS} FROM sessions WHERE tenant = ? AND name = ? AND ended IS NULL"  # noqa: S608 - our own words
        rows = step.run(found, tenant, name)
        old = self._record(rows[0]) if rows else None
        expired = old is not None and old.expires <= now
        if old and not expired:
            if old.caller != caller:
                raise Refused(f"the session name {name[:80]!r} is taken; choose another", rule="session.owner")
            step.run("UPDATE sessions SET used = ? WHERE handle = ?", now, old.handle)
            return replace(old, used=now, expires=now + self._rules.seconds), False
        if old:
            step.run("UPDATE sessions SET ended = ? WHERE handle = ?", now, old.handle)
            for sql, values in self._forget(old):
                step.run(sql, *values)
        return self._made(step, name, tenant, caller, now), expired

    def _made(self, step: Transaction, name: str, tenant: str, caller: str, now: float) -> SessionRecord:
        count = step.run("SELECT COUNT(*) FROM sessions WHERE tenant = ? AND ended IS NULL", tenant)[0][0]
        if int(count or 0) >= self._rules.sessions_per_tenant:
            most = self._rules.sessions_per_tenant
            raise LimitExceeded(f"there are {most:,} sessions already: delete some", limit="sessions.most", value=most)
        handle = str(uuid.uuid4())
        step.run("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, NULL)", handle, tenant, caller, name, now, now)
        return self._record((handle, tenant, caller, name, now, now))

    def _remember(self, record: SessionRecord) -> None:
        if len(self._touched) >= self._rules.sessions_per_tenant:
            self._touched.clear()
        self._touched[record.tenant, record.name] = record

    def _record(self, row: Row) -> SessionRecord:
        handle, tenant, caller, name = map(str, row[:4])
        created, used = (float(value or 0) for value in row[4:6])
        expires = used + self._rules.seconds
        return SessionRecord(
            handle=handle, tenant=tenant, caller=caller, name=name, created=created, used=used, expires=expires
        )  # fmt: skip

    def _expired(self, record: SessionRecord) -> str:
        used = datetime.fromtimestamp(record.used, UTC).strftime("%Y-%m-%d")
        days = f"{self._rules.seconds / 86_400:g}"
        return (
            f"the session {record.name!r} has expired: it was last used on {used}, sessions are kept for {days} days "
            "([sessions] days) and as long as there is room. Its files are gone; open a new one"
        )


def _checked_name(name: str | None) -> str:
    if name is None:
        return f"s-{uuid.uuid4().hex}"
    folder_name(name)
    if name.startswith("~") or "/" in name:
        raise Refused("a session's name does not begin with '~' and has no '/'", rule="session.name")
    return name


def _too_much(kept: list[SessionRecord], allowed: int, size_of: Callable[[str], int]) -> list[SessionRecord]:
    """Those that must go, used longest ago first, until the rest fits."""
    sizes = [size_of(record.key) for record in kept]
    total, gone = sum(sizes), list[SessionRecord]()
    for record, size in zip(kept, sizes, strict=True):
        if total <= allowed:
            break
        if size:
            gone.append(record)
            total -= size
    return gone
