"""Stores from which tools a session got values, for flow rules. The values are only in memory; this record is permanent."""

from collections.abc import Callable, Iterable, Sequence

from gristmill.store.base import Statement, Store

_FILES, _SKILL = "\x01files ", "\x01skill "
"""How scopes begin that are not sessions: the keys of sessions have no control characters."""


class SeenSources:
    """The tools from which each session got values, by the key of the session."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    async def list_seen_tools(self, scope: str) -> tuple[str, ...]:
        """Returns the tools whose values this session may hold, from this or an earlier process."""
        rows = await self._store.read("SELECT tool FROM flow_sources WHERE scope = ? ORDER BY tool", scope)
        return tuple(str(row[0]) for row in rows)

    async def record_tools(self, scope: str | Iterable[str], tools: Sequence[str]) -> None:
        """Records that one or more scopes have seen values of ``tools``; the record is stored when this returns.

        Raises:
            StoreUnavailable: the record could not be stored, so the program must not get the values.
        """
        sql = "INSERT INTO flow_sources (scope, tool, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        scopes = (scope,) if isinstance(scope, str) else tuple(scope)
        await self._store.write(*((sql, (each, tool, self._clock())) for each in scopes for tool in tools))

    async def forget_gone_skills(self) -> None:
        """Deletes the records of skills that exist no more."""
        # Records of today stay: a record is written before its skill is.
        known = "SELECT 1 FROM skills WHERE ? || skills.tenant || ' ' || skills.name = flow_sources.scope"
        gone = f"DELETE FROM flow_sources WHERE scope LIKE ? AND at < ? AND NOT EXISTS ({known})"  # noqa: S608 - our own words
        await self._store.write((gone, (f"{_SKILL}%", self._clock() - 86_400, _SKILL)))


def name_files_scope(folder: str) -> str:
    """Returns the scope of everything that was written into a folder, by whichever session."""
    return f"{_FILES}{folder}"


def name_skill_scope(tenant: str, skill: str) -> str:
    """Returns the scope of a skill, of every version and level."""
    return f"{_SKILL}{tenant} {skill}"


def build_forget_statements(*scopes: str) -> tuple[Statement, ...]:
    """Returns the statements that delete these records together with a session."""
    return tuple(("DELETE FROM flow_sources WHERE scope = ?", (scope,)) for scope in scopes)
