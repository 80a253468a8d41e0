"""Values that code stores per session under a key. They outlive executions and restarts."""

import json
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from gristmill.errors import LimitExceeded, Refused
from gristmill.model import Json
from gristmill.store.base import Statement, Store, Transaction
from gristmill.store.tenant_bytes import add_tenant_bytes, build_deletion, read_tenant_bytes

KEY_CHARACTERS = 256
_ADD_VALUE = "INSERT INTO session_values (session, name, value, size, changed, tenant) VALUES (?, ?, ?, ?, ?, ?)"


class KeyValueRules(Struct, frozen=True, kw_only=True):
    """How many keys and bytes one session may store, and how many bytes all sessions of a tenant."""

    bytes: int
    keys: int
    tenant_bytes: int = 1 << 62
    """How many bytes all sessions of one tenant may store together."""


class KeyValueStore:
    """The values of all sessions. ``session`` is always a handle that was checked before."""

    def __init__(self, store: Store, rules: KeyValueRules, clock: Callable[[], float] = time.time) -> None:
        self._store, self._rules, self._clock = store, rules, clock

    async def get(self, session: str, key: str) -> tuple[bool, Json]:
        """Returns whether there is a value, and the value."""
        rows = await self._store.read("SELECT value FROM session_values WHERE session = ? AND name = ?", session, key)
        return (True, json.loads(str(rows[0][0]))) if rows else (False, None)

    async def set(self, session: str, key: str, value: Json) -> None:
        """Stores ``value`` under ``key``.

        Raises:
            Refused: the key is not allowed, or the value is not JSON.
            LimitExceeded: the session would store too much.
        """
        text = _encode_value(key, value)
        size = len(key.encode()) + len(text)

        def work(step: Transaction) -> None:
            others = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM session_values WHERE session = ? AND name <> ?"
            count, used = step.run(others, session, key)[0]
            self._check_rules(int(count or 0) + 1, int(used or 0) + size)
            _delete_value(step, session, key)
            tenant = _find_tenant(step, session)
            self._check_tenant(read_tenant_bytes(step, tenant, "values") + size)
            step.run(_ADD_VALUE, session, key, text, size, self._clock(), tenant)
            add_tenant_bytes(step, tenant, "values", size)

        await self._store.change(work)

    async def delete(self, session: str, key: str) -> bool:
        """Deletes ``key``; returns whether it existed."""

        def work(step: Transaction) -> bool:
            known = step.run("SELECT 1 FROM session_values WHERE session = ? AND name = ?", session, key)
            _delete_value(step, session, key)
            return bool(known)

        return await self._store.change(work)

    async def keys(self, session: str) -> tuple[str, ...]:
        """Returns all keys, sorted."""
        rows = await self._store.read("SELECT name FROM session_values WHERE session = ?", session)
        return tuple(sorted(str(row[0]) for row in rows))

    def _check_rules(self, keys: int, size: int) -> None:
        if keys > self._rules.keys:
            raise LimitExceeded(f"a session keeps at most {self._rules.keys:,} keys", limit="kv_keys", value=self._rules.keys)
        if size > self._rules.bytes:
            text = f"a session keeps at most {self._rules.bytes:,} bytes of values: put large ones into files of the workspace"
            raise LimitExceeded(text, limit="kv_bytes", value=self._rules.bytes)

    def _check_tenant(self, size: int) -> None:
        if size > self._rules.tenant_bytes:
            text = (
                f"all sessions together keep at most {self._rules.tenant_bytes:,} bytes of values: delete some, or some sessions"
            )
            raise LimitExceeded(text, limit="sessions.kv_total_bytes", value=self._rules.tenant_bytes)


def forget_values(session: str) -> Sequence[Statement]:
    """Returns the statements that delete all values of a session."""
    return build_deletion("values", "session = ?", (session,))


def _delete_value(step: Transaction, session: str, key: str) -> None:
    for sql, values in build_deletion("values", "session = ? AND name = ?", (session, key)):
        step.run(sql, *values)


def _find_tenant(step: Transaction, session: str) -> str:
    rows = step.run("SELECT tenant FROM sessions WHERE handle = ?", session)
    return str(rows[0][0]) if rows else ""


def _encode_value(key: str, value: Json) -> str:
    if not key or len(key) > KEY_CHARACTERS or not key.isprintable():
        raise Refused(f"a key has 1 to {KEY_CHARACTERS} printable characters", rule="kv.key")
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"the value of {key!r} is not JSON: {error}", rule="kv.value") from None
