"""The register of sessions: their owners, when they were used, and what is deleted with them when they end."""

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from gristmill.errors import LimitExceeded, Refused, UnknownSession
from gristmill.model import LOCAL, Identity
from gristmill.session.files.workspace import is_generation, make_folder_name
from gristmill.session.session_endings import Ending, announce_ending, batched_handles
from gristmill.store.base import Row, Statement, Store, Transaction

TOUCH_SECONDS = 60.0
"""How often, at most, a use is written to the store: executions are much more frequent than retention is exact."""

_COLUMNS = "handle, tenant, caller, name, created, used, generation, life"

MOST_LISTED = 1_000
"""Most sessions that one page of a listing has."""
MOST_DELETING = 100
"""Most sessions that are listed while their deletion is under way."""


class SessionRecord(Struct, frozen=True, kw_only=True):
    """One session. ``handle`` is opaque; ``key`` names its workspace and its interpreter."""

    handle: str
    owner: Identity
    name: str
    created: float
    used: float
    expires: float
    generation: str = ""
    """Differs for two sessions of one name, of which the first has ended; empty for sessions of version 0.1.0."""

    @property
    def key(self) -> str:
        """Returns a key that is different for any two sessions, also for those that had the same name one after the other."""
        return make_session_key(self.owner.tenant, self.name, self.generation)

    def fields(self) -> dict[str, Any]:
        """Returns plain JSON; the owner's tenant and caller are fields of their own."""
        found = asdict(self)
        handle, owner, _ = found.pop("handle"), found.pop("owner"), found.pop("generation")
        return {"handle": handle, "tenant": owner.tenant, "caller": owner.caller, **found}


def make_session_key(tenant: str, name: str, generation: str = "") -> str:
    """Returns the name that workspaces and interpreters use for a session; for the tenant "local" it begins with its own name."""
    label = name if tenant == LOCAL else f"~{hashlib.sha256(json.dumps([tenant, name]).encode()).hexdigest()}"
    return f"{label}~{generation}" if generation else label


def read_generation(key: str) -> str:
    """Returns the generation in the key of a session; empty if the key has none."""
    name, _, generation = key.rpartition("~")
    return generation if name and is_generation(generation) else ""


class SessionRetention(Struct, frozen=True, kw_only=True):
    """How long sessions are kept, and how many sessions and bytes a tenant may have."""

    seconds: float
    bytes_per_tenant: int
    sessions_per_tenant: int
    results_per_tenant: int = 100
    """How many sessions a tenant may have that hold one result each, of executions without a session."""


ForgetSession = Callable[[SessionRecord], Sequence[Statement]]
"""Returns the statements that delete what else belongs to a session."""


class SessionRegister:
    """Every session of every tenant. A handle alone proves nothing: each request names the identity that asks."""

    def __init__(
        self,
        store: Store,
        rules: SessionRetention,
        *,
        remove_files: Callable[[str], None],
        forget: ForgetSession = lambda _: (),
        clock: Callable[[], float] = time.time,
        may_expire: Callable[[], bool] = lambda: True,
        note_use: Callable[[str, str], None] = lambda _key, _tenant: None,
    ) -> None:
        """Sets the rules. ``remove_files`` removes the workspace of a key; it is called in a thread.

        ``may_expire`` returns False while the clock is in doubt: then no session counts as expired. ``note_use`` is told the
        key and the tenant of each session that is opened.
        """
        self._note_use = note_use
        self._may_expire = may_expire
        self._store, self._rules, self._clock = store, rules, clock
        self._remove_files, self._forget = remove_files, forget
        self._recent: dict[tuple[str, str], SessionRecord] = {}

    async def open(self, name: str | None, *, identity: Identity, life: float | None = None) -> SessionRecord:
        """Opens the session with that name, or creates it; every opening counts as a use.

        A session that is created with a ``life`` holds one result: it is kept for so many seconds without use, does not count
        among the tenant's sessions, and makes room for the next such session when there are too many of them.

        Raises:
            Refused: the name is not allowed, or belongs to another caller.
            LimitExceeded: the tenant has too many sessions.
        """
        known = self._recent.get((identity.tenant, name)) if name is not None else None
        now = self._clock()
        is_recent = known and known.owner == identity and now - known.used < min(TOUCH_SECONDS, known.expires - known.used)
        # Another process may have ended the session since: only the store knows.
        if known and is_recent and await self.find_live([known.handle]):
            self._note_use(known.key, known.owner.tenant)
            return known
        name = _check_name(name)
        record, ended = await self._store.change(lambda step: self._open_in_transaction(step, name, identity, now, life))
        for each in ended:
            self._recent.pop((each.owner.tenant, each.name), None)
            await asyncio.to_thread(self._remove_files, each.key)
        self._cache_record(record)
        self._note_use(record.key, record.owner.tenant)
        return record

    async def create(self, name: str, *, identity: Identity) -> SessionRecord:
        """Creates a session; of several that ask for one name at the same time, one gets it.

        Raises:
            Refused: the name is not allowed, or a session has it.
            LimitExceeded: the tenant has too many sessions.
        """
        name, now = _check_name(name), self._clock()

        def work(step: Transaction) -> SessionRecord:
            if step.run("SELECT 1 FROM sessions WHERE tenant = ? AND name = ? AND ended IS NULL", identity.tenant, name):
                raise Refused(f"session {name[:80]!r} exists already: choose another name", rule="session.exists")
            return self._create_in_transaction(step, name, identity, now)

        record = await self._store.change(work)
        self._cache_record(record)
        return record

    async def get(self, handle: str, *, identity: Identity, whole_tenant: bool = False) -> SessionRecord:
        """Returns the session with ``handle`` if it belongs to ``identity``, or with ``whole_tenant`` to its tenant.

        Raises:
            UnknownSession: it belongs to others, has expired, or never existed; other tenants cannot tell which.
        """
        owned, values = _build_owner_condition(identity, whole_tenant=whole_tenant)
        sql = f"SELECT {_COLUMNS}, ended, ending FROM sessions WHERE handle = ? AND {owned}"  # noqa: S608 - only our own constants
        rows = await self._store.read(sql, handle, *values)
        if not rows or rows[0][-1] == "deleted":
            raise UnknownSession("there is no session of that handle; open one by name, or without a name for a new one")
        record, ended = self._make_record(rows[0]), rows[0][-2]
        if ended is not None or self._is_expired(record):
            raise UnknownSession(self._describe_expiry(record))
        return record

    async def find_beginning(self, beginning: str, *, identity: Identity) -> str | None:
        """Returns the handle of the one session of ``identity`` whose handle begins like this; None unless it is one."""
        owned, values = _build_owner_condition(identity, whole_tenant=False)
        sql = f"SELECT handle FROM sessions WHERE {owned} AND substr(handle, 1, ?) = ? LIMIT 2"  # noqa: S608 - only our own constants
        rows = await self._store.read(sql, *values, len(beginning), beginning)
        return str(rows[0][0]) if len(rows) == 1 else None

    async def find_by_name(self, name: str, *, identity: Identity, whole_tenant: bool = False) -> SessionRecord:
        """Returns the live session with that name if it belongs to ``identity``, or with ``whole_tenant`` to its tenant.

        Raises:
            UnknownSession: there is none, or it has expired.
        """
        owned, values = _build_owner_condition(identity, whole_tenant=whole_tenant)
        found = f"SELECT {_COLUMNS} FROM sessions WHERE name = ? AND {owned} AND ended IS NULL"  # noqa: S608 - only our own constants
        for record in map(self._make_record, await self._store.read(found, name, *values)):
            if not self._is_expired(record):
                return record
        raise UnknownSession(f"there is no session {name[:80]!r}, or it has expired")

    async def list(
        self, *, identity: Identity, whole_tenant: bool = False, limit: int = MOST_LISTED, after: SessionRecord | None = None
    ) -> tuple[SessionRecord, ...]:
        """Returns the live sessions of ``identity``, or with ``whole_tenant`` of its tenant, the one used last first.

        These are at most ``limit``; ``after`` is the last session of the page before.
        """
        owned, values = _build_owner_condition(identity, whole_tenant=whole_tenant)
        now = self._clock() if self._may_expire() else 0.0
        where, values = f"{owned} AND ended IS NULL AND used + coalesce(life, ?) > ?", (*values, self._rules.seconds, now)
        if after is not None:
            where, values = (
                f"{where} AND (used < ? OR (used = ? AND handle > ?))",
                (*values, after.used, after.used, after.handle),
            )
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY used DESC, handle LIMIT ?"  # noqa: S608 - only our own constants
        return tuple(self._make_record(row) for row in await self._store.read(sql, *values, min(limit, MOST_LISTED)))

    async def list_early_keys(self) -> tuple[str, ...]:
        """Returns the keys of the live sessions of all tenants that early versions made."""
        rows = await self._store.read("SELECT tenant, name FROM sessions WHERE ended IS NULL AND generation = ''")
        return tuple(make_session_key(str(tenant), str(name)) for tenant, name in rows)

    async def delete(self, record: SessionRecord) -> int:
        """Ends a session and deletes its files here, its values and its skills of level `session`.

        Returns how many processes have yet to drop what they keep of it; each of them does so within seconds.
        """
        return await self._end_session(record, "deleted")

    async def prune(
        self,
        now: float | None = None,
        size_of: Callable[[str], int] = lambda _: 0,
        *,
        tenants: Collection[str] | None = None,
    ) -> tuple[SessionRecord, ...]:
        """Deletes sessions that are too old, then per tenant those that exceed its bytes, least recently used first.

        ``size_of`` measures the files of a key; it is called in a thread. With ``tenants`` only those are looked at.
        """
        if not self._may_expire():
            return ()
        now = self._clock() if now is None else now
        gone: list[SessionRecord] = []
        for tenant in await self._list_tenants() if tenants is None else sorted(tenants):
            gone += await self._choose_gone(tenant, now, size_of)
        for record in gone:
            await self._end_session(record, "expired")
        # Their handles are kept for the same time again, so that an error can say that the session has expired.
        forgotten = ("DELETE FROM sessions WHERE ended IS NOT NULL AND ended < ?", (now - self._rules.seconds,))
        await self._store.write(forgotten)
        return tuple(gone)

    async def prune_results(self) -> tuple[SessionRecord, ...]:
        """Deletes the sessions of single results whose short life is over."""
        if not self._may_expire():
            return ()
        where = "life IS NOT NULL AND ended IS NULL AND used + life <= ?"
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM sessions WHERE {where}", self._clock())  # noqa: S608 - only our own constants
        gone = tuple(map(self._make_record, rows))
        for record in gone:
            await self._end_session(record, "expired")
        return gone

    async def _list_tenants(self) -> Sequence[str]:
        rows = await self._store.read("SELECT DISTINCT tenant FROM sessions WHERE ended IS NULL ORDER BY tenant")
        return [str(row[0]) for row in rows]

    async def _choose_gone(self, tenant: str, now: float, size_of: Callable[[str], int]) -> Sequence[SessionRecord]:
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE tenant = ? AND ended IS NULL ORDER BY used, handle"  # noqa: S608 - only our own constants
        records = [self._make_record(row) for row in await self._store.read(sql, tenant)]
        old = [record for record in records if record.expires <= now]
        kept = [record for record in records if record.expires > now]
        return [*old, *await asyncio.to_thread(_choose_excess, kept, self._rules.bytes_per_tenant, size_of)]

    async def find_live(self, handles: Collection[str]) -> frozenset[str]:
        """Returns those of ``handles`` whose sessions have not ended."""
        found: set[str] = set()
        for some in batched_handles(handles):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT handle FROM sessions WHERE ended IS NULL AND handle IN ({marks})"  # noqa: S608 - only our own constants
            found.update(str(row[0]) for row in await self._store.read(sql, *some))
        return frozenset(found)

    async def find_live_generations(self, generations: Collection[str]) -> frozenset[str]:
        """Returns those of ``generations`` whose sessions have not ended: folders and interpreters carry them."""
        found: set[str] = set()
        for some in batched_handles(generations):
            marks = ", ".join("?" * len(some))
            condition = f"ended IS NULL AND generation IN ({marks})"
            rows = await self._store.read(f"SELECT generation FROM sessions WHERE {condition}", *some)  # noqa: S608 - our own constants
            found.update(str(row[0]) for row in rows)
        return frozenset(found)

    async def list_ended(self, handles: Collection[str]) -> tuple[SessionRecord, ...]:
        """Returns those of ``handles`` whose sessions have ended and are still on record."""
        found: list[SessionRecord] = []
        for some in batched_handles(handles):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT {_COLUMNS} FROM sessions WHERE ended IS NOT NULL AND handle IN ({marks})"  # noqa: S608 - only our own constants
            found += [self._make_record(row) for row in await self._store.read(sql, *some)]
        return tuple(found)

    async def list_deleting(self, *, identity: Identity, whole_tenant: bool = False) -> tuple[SessionRecord, ...]:
        """Returns the sessions that were deleted and that a process has yet to drop, the first ``MOST_DELETING`` of them."""
        owned, values = _build_owner_condition(identity, whole_tenant=whole_tenant)
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE {owned} AND ended IS NOT NULL AND ending = 'deleted' LIMIT ?"  # noqa: S608 - only our own constants
        return tuple(self._make_record(row) for row in await self._store.read(sql, *values, MOST_DELETING))

    async def _end_session(self, record: SessionRecord, ending: Ending) -> int:
        self._recent.pop((record.owner.tenant, record.name), None)
        # The row first: from then on no process lets an execution into the session. If this process dies before the files
        # are removed, the next one that opens this folder finds them without a live session.
        waiting = await self._store.change(lambda step: self._end_in_transaction(step, record, ending))
        await asyncio.to_thread(self._remove_files, record.key)
        return waiting

    def _end_in_transaction(self, step: Transaction, record: SessionRecord, ending: Ending) -> int:
        """Marks a session as ended, for every process; returns how many processes are to be told."""
        step.run("UPDATE sessions SET ended = ?, ending = ? WHERE handle = ?", self._clock(), ending, record.handle)
        for sql, values in self._forget(record):
            step.run(sql, *values)
        return announce_ending(step, record.handle, ending)

    def _open_in_transaction(
        self, step: Transaction, name: str, identity: Identity, now: float, life: float | None
    ) -> tuple[SessionRecord, Sequence[SessionRecord]]:
        """Returns the session of that name, and the sessions that ended for it: an expired one of that name, old results."""
        found = f"SELECT {_COLUMNS} FROM sessions WHERE tenant = ? AND name = ? AND ended IS NULL"  # noqa: S608 - only our own constants
        rows = step.run(found, identity.tenant, name)
        old = self._make_record(rows[0]) if rows else None
        if old and not self._is_expired(old):
            if old.owner != identity:
                raise Refused(f"the session name {name[:80]!r} is taken; choose another", rule="session.owner")
            used = max(old.used, now)  # a clock that was set back makes no session older
            step.run("UPDATE sessions SET used = ? WHERE handle = ?", used, old.handle)
            return replace(old, used=used, expires=old.expires - old.used + used), ()
        results = self._choose_old_results(step, identity.tenant) if life is not None else ()
        ended: tuple[SessionRecord, ...] = (*((old,) if old else ()), *results)
        for each in ended:
            self._end_in_transaction(step, each, "expired")
        return self._create_in_transaction(step, name, identity, now, life), ended

    def _choose_old_results(self, step: Transaction, tenant: str) -> Sequence[SessionRecord]:
        """Returns the sessions of single results that make room for one more, those used longest ago."""
        where = "tenant = ? AND ended IS NULL AND life IS NOT NULL"
        count = int(step.run(f"SELECT COUNT(*) FROM sessions WHERE {where}", tenant)[0][0] or 0)  # noqa: S608 - only our own constants
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY used LIMIT ?"  # noqa: S608 - only our own constants
        return [self._make_record(row) for row in step.run(sql, tenant, max(0, count + 1 - self._rules.results_per_tenant))]

    def _create_in_transaction(
        self, step: Transaction, name: str, identity: Identity, now: float, life: float | None = None
    ) -> SessionRecord:
        tenant, caller = identity.tenant, identity.caller
        count = step.run("SELECT COUNT(*) FROM sessions WHERE tenant = ? AND ended IS NULL AND life IS NULL", tenant)[0][0]
        if life is None and int(count or 0) >= self._rules.sessions_per_tenant:
            most = self._rules.sessions_per_tenant
            raise LimitExceeded(f"there are {most:,} sessions already: delete some", limit="sessions.most", value=most)
        handle = str(uuid.uuid4())
        row = (handle, tenant, caller, name, now, now, handle, life)
        step.run(f"INSERT INTO sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)  # noqa: S608 - only our own constants
        return self._make_record(row)

    def _cache_record(self, record: SessionRecord) -> None:
        if len(self._recent) >= self._rules.sessions_per_tenant:
            self._recent.clear()
        self._recent[record.owner.tenant, record.name] = record

    def _make_record(self, row: Row) -> SessionRecord:
        handle, tenant, caller, name = map(str, row[:4])
        created, used = (float(value or 0) for value in row[4:6])
        generation, life = str(row[6]), self._rules.seconds if row[7] is None else float(row[7])
        owner = Identity(tenant=tenant, caller=caller)
        return SessionRecord(
            handle=handle, owner=owner, name=name, created=created, used=used, expires=used + life, generation=generation
        )

    def _is_expired(self, record: SessionRecord) -> bool:
        return record.expires <= self._clock() and self._may_expire()

    def _describe_expiry(self, record: SessionRecord) -> str:
        used = datetime.fromtimestamp(record.used, UTC).strftime("%Y-%m-%d")
        days = f"{self._rules.seconds / 86_400:g}"
        return (
            f"the session {record.name!r} has expired: it was last used on {used}, sessions are kept for {days} days "
            "([sessions] days) and as long as there is room. Its files are gone; open a new one"
        )


def _build_owner_condition(identity: Identity, *, whole_tenant: bool) -> tuple[str, tuple[str, ...]]:
    """Returns the SQL condition for sessions of ``identity``, or of its whole tenant, and its values."""
    if whole_tenant:
        return "tenant = ?", (identity.tenant,)
    return "tenant = ? AND caller = ?", (identity.tenant, identity.caller)


def _check_name(name: str | None) -> str:
    if name is None:
        return f"s-{uuid.uuid4().hex}"
    make_folder_name(name)
    if name.startswith("~") or "/" in name:
        raise Refused("a session's name does not begin with '~' and has no '/'", rule="session.name")
    return name


def _choose_excess(kept: list[SessionRecord], allowed: int, size_of: Callable[[str], int]) -> list[SessionRecord]:
    """Returns the sessions to delete, least recently used first, so that the rest fits."""
    sizes = [size_of(record.key) for record in kept]
    total, gone = sum(sizes), list[SessionRecord]()
    for record, size in zip(kept, sizes, strict=True):
        if total <= allowed:
            break
        if size:
            gone.append(record)
            total -= size
    return gone
