"""What outlives executions, opened without a sandbox: the store, sessions, their files and values, skills."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from gristmill.config.tree import Config
from gristmill.errors import LimitExceeded, NotFound
from gristmill.guard.policy import seen_sources as sources
from gristmill.guard.policy.seen_sources import Sources, forget_sources
from gristmill.ledger.ledger_keys import derive
from gristmill.model import Limits, Tool
from gristmill.runtime.open.open_records import ledger_key, open_config_store
from gristmill.session import key_values as kv
from gristmill.session import session_register as sessions
from gristmill.session.files.workspace import Workspaces
from gristmill.session.files.workspace_files import READ_BYTES, Files, Quota, disk_usage
from gristmill.session.key_values import KeyValueRules, KeyValues, forget_values
from gristmill.session.session_register import LOCAL, Retention, SessionRecord, Sessions
from gristmill.session.skills import skill_store as skills
from gristmill.session.skills.skill import Scope, Skill, skills_as_tools
from gristmill.session.skills.skill import diff as skill_diff
from gristmill.session.skills.skill_folder import export_skill, import_skill
from gristmill.session.skills.skill_source import read_source
from gristmill.session.skills.skill_store import SkillRules, Skills, forget_skills
from gristmill.store.base import Statement, Store
from gristmill.values import dataclass

__all__ = [
    "Keeping",
    "Scope",
    "export_skill",
    "import_skill",
    "keeping_over",
    "open_keeping",
    "skill_diff",
    "skill_row",
    "skills_in_sight",
    "whole_file",
]
"""What doors need stands here, so that they know the hall only."""

TABLES = (*sessions.TABLES, *kv.TABLES, *skills.TABLES, *sources.TABLES)
"""What the rooms of this house need in the store; whoever opens the store passes them."""
NOBODY = 65_534


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Sessions and everything that belongs to them."""

    sessions: Sessions
    values: KeyValues
    skills: Skills
    workspaces: Workspaces
    quota: Quota
    sources: Sources

    def files(self, session: SessionRecord) -> Files:
        """The files of a session, safe to touch from here. Blocking: use it in a thread."""
        spaces = self.workspaces
        return Files(root=spaces.of(session.key), quota=self.quota, uid=spaces.uid, gid=spaces.gid)

    def size(self, key: str) -> int:
        """Bytes on disk of the workspace of a session's key."""
        try:
            return disk_usage(self.workspaces.path(key))
        except NotFound:
            return 0  # removed meanwhile

    async def prune(self) -> tuple[SessionRecord, ...]:
        """Delete the sessions that are too old or too much."""
        return await self.sessions.prune(size_of=self.size)


async def skills_in_sight(keeping: Keeping | None, scope: Scope | None = None) -> tuple[Tool, ...]:
    """The skills that ``scope`` sees, as tools; without one those of the local user."""
    if keeping is None:
        return ()
    return skills_as_tools(await keeping.skills.list(scope or Scope(tenant=LOCAL, caller=LOCAL)))


@asynccontextmanager
async def open_keeping(config: Config) -> AsyncGenerator[Keeping]:
    """Open the store and what is kept in it; close it at the end.

    Raises:
        StoreUnavailable: it cannot be opened.
        ConfigError: its address or its key cannot be used.
    """
    key = ledger_key(config)
    async with open_config_store(config, TABLES) as store:
        yield keeping_over(store, config, derive(key, "skills"))


def keeping_over(store: Store, config: Config, key: bytes) -> Keeping:
    """The same over a store that is open already and has our ``TABLES``."""
    spaces = Workspaces(root=config.state_dir / "workspaces", uid=NOBODY, gid=NOBODY)
    kept, learnt = config.sessions, config.skills
    return Keeping(
        sessions=Sessions(
            store,
            Retention(seconds=kept.days * 86_400, bytes_per_tenant=kept.total_mb << 20, sessions_per_tenant=kept.most),
            remove_files=spaces.remove,
            forget=_forget,
        ),
        values=KeyValues(store, KeyValueRules(bytes=kept.kv_bytes, keys=kept.kv_keys)),
        skills=Skills(store, SkillRules(**dict(learnt)), key),
        workspaces=spaces,
        quota=quota_of(config.sandbox.limits.values()),
        sources=Sources(store, time.time),
    )


def _forget(session: SessionRecord) -> tuple[Statement, ...]:
    """What goes with a session besides its files."""
    return (*forget_values(session.handle), *forget_skills(session.handle), *forget_sources(session.key))


def quota_of(limits: Limits) -> Quota:
    """What a workspace may hold, as uploads count it."""
    return Quota(bytes=limits.workspace_mb << 20, files=limits.workspace_files, file_bytes=limits.file_mb << 20)


def skill_row(skill: Skill) -> dict[str, Any]:
    """A skill in a listing: everything but its source."""
    return {
        "name": skill.name,
        "version": skill.version,
        "level": skill.level,
        "description": read_source(skill.name, skill.source, len(skill.source) * 4).description,
        "requires": list(skill.requires),
        "tested": skill.tested,
        "hash": skill.hash,
        "created": skill.created,
    }


def whole_file(files: Files, path: str) -> bytes:
    """A file of a workspace, read in ranges: as large as the quota lets it be.

    Raises:
        LimitExceeded: it is larger than files may be, by holes for example.
    """
    first = files.read(path, length=READ_BYTES)
    if first.size > files.quota.file_bytes:
        text = f"{path} claims {first.size:,} bytes, more than a file may have"
        raise LimitExceeded(text, limit="file_mb", value=files.quota.file_bytes >> 20)
    parts = [first.body]
    while parts[-1] and sum(map(len, parts)) < first.size:
        parts.append(files.read(path, offset=sum(map(len, parts)), length=READ_BYTES).body)
    return b"".join(parts)
