"""Values that code keeps between executions and restarts, under a key, per session."""

import json
import time
from collections.abc import Callable, Sequence

from gristmill.errors import LimitExceeded, Refused
from gristmill.model import Json
from gristmill.store.base import Statement, Store, Transaction
from gristmill.values import dataclass

KEY_CHARACTERS = 256
TABLES = (
    """CREATE TABLE IF NOT EXISTS session_values (
        session TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, size INTEGER NOT NULL,
        changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (session, name))""",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValueRules:
    """How much one session may keep."""

    bytes: int
    keys: int


class KeyValues:
    """The values of all sessions; ``session`` is always a handle that was checked before."""

    def __init__(self, store: Store, rules: KeyValueRules, clock: Callable[[], float] = time.time) -> None:
        self._store, self._rules, self._clock = store, rules, clock

    async def get(self, session: str, key: str) -> tuple[bool, Json]:
        """Whether there is a value, and the value."""
        rows = await self._store.read("SELECT value FROM session_values WHERE session = ? AND name = ?", session, key)
        return (True, json.loads(str(rows[0][0]))) if rows else (False, None)

    async def set(self, session: str, key: str, value: Json) -> None:
        """Keep ``value`` under ``key``.

        Raises:
            Refused: the key cannot be one, or the value is not JSON.
            LimitExceeded: the session keeps too much.
        """
        text = _text(key, value)
        size = len(key.encode()) + len(text)

        def work(step: Transaction) -> None:
            others = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM session_values WHERE session = ? AND name <> ?"
            count, used = step.run(others, session, key)[0]
            self._check(int(count or 0) + 1, int(used or 0) + size)
            step.run("DELETE FROM session_values WHERE session = ? AND name = ?", session, key)
            step.run("INSERT INTO session_values VALUES (?, ?, ?, ?, ?)", session, key, text, size, self._clock())

        await self._store.change(work)

    async def delete(self, session: str, key: str) -> bool:
        """Forget ``key``; says whether there was one."""

        def work(step: Transaction) -> bool:
            known = step.run("SELECT 1 FROM session_values WHERE session = ? AND name = ?", session, key)
            step.run("DELETE FROM session_values WHERE session = ? AND name = ?", session, key)
            return bool(known)

        return await self._store.change(work)

    async def keys(self, session: str) -> tuple[str, ...]:
        """Every key, in order."""
        rows = await self._store.read("SELECT name FROM session_values WHERE session = ?", session)
        return tuple(sorted(str(row[0]) for row in rows))

    def _check(self, keys: int, size: int) -> None:
        if keys > self._rules.keys:
            raise LimitExceeded(f"a session keeps at most {self._rules.keys:,} keys", limit="kv_keys", value=self._rules.keys)
        if size > self._rules.bytes:
            text = f"a session keeps at most {self._rules.bytes:,} bytes of values: put large ones into files of the workspace"
            raise LimitExceeded(text, limit="kv_bytes", value=self._rules.bytes)


def forget_values(session: str) -> Sequence[Statement]:
    """Everything that a session keeps, deleted."""
    return (("DELETE FROM session_values WHERE session = ?", (session,)),)


def _text(key: str, value: Json) -> str:
    if not key or len(key) > KEY_CHARACTERS or not key.isprintable():
        raise Refused(f"a key has 1 to {KEY_CHARACTERS} printable characters", rule="kv.key")
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"the value of {key!r} is not JSON: {error}", rule="kv.value") from None
