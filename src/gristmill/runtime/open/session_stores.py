"""Opens what outlives executions, without a sandbox: the store, sessions, their files and values, skills."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from msgspec import Struct

from gristmill.config.tree import Config
from gristmill.errors import Conflict, LimitExceeded, NotFound
from gristmill.guard.policy.seen_sources import SeenSources, build_forget_statements, name_files_scope
from gristmill.ledger.ledger_keys import derive_key
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import LOCAL_IDENTITY, Limits, Tool
from gristmill.runtime.execution import session_redactors
from gristmill.runtime.open.open_records import load_ledger_key, open_config_store
from gristmill.runtime.open.state_folders import NOBODY_ID
from gristmill.session.conversations.conversation_store import BytesSeal, ConversationRules, ConversationStore
from gristmill.session.files.old_folder_names import has_old_folders, rename_old_folders
from gristmill.session.files.trim_workspace import trim_workspace
from gristmill.session.files.workspace import Workspaces, make_folder_name
from gristmill.session.files.workspace_files import READ_BYTES, FileQuota, WorkspaceFiles, measure_disk_usage
from gristmill.session.key_values import KeyValueRules, KeyValueStore, forget_values
from gristmill.session.session_endings import SessionEndings
from gristmill.session.session_register import SessionRecord, SessionRegister, SessionRetention
from gristmill.session.skills.skill import Skill, SkillScope
from gristmill.session.skills.skill_store import SkillRules, SkillStore, forget_skills
from gristmill.session.skills.skill_summary import SkillSummary, convert_summaries, summarize_skill
from gristmill.session.used_disk import UsedDisk
from gristmill.store.base import Statement, Store
from gristmill.store.clock_guard import CONFIRM_COMMAND, ClockGuard

__all__ = [
    "SessionRecord",
    "SessionStores",
    "SkillScope",
    "build_session_stores",
    "make_skill_row",
    "open_session_stores",
    "read_whole_file",
]
"""Names that doors need are exported here, so that doors import only the hall."""


class SessionStores(Struct, frozen=True, kw_only=True):
    """Sessions and everything that belongs to them."""

    sessions: SessionRegister
    values: KeyValueStore
    skills: SkillStore
    workspaces: Workspaces
    quota: FileQuota
    seen_servers: SeenSources
    endings: SessionEndings
    clock_guard: ClockGuard
    used_disk: UsedDisk
    conversations: ConversationStore

    def files(self, session: SessionRecord) -> WorkspaceFiles:
        """Returns the files of a session, safe to touch from the host. Blocking: use it in a thread."""
        spaces = self.workspaces
        return WorkspaceFiles(root=spaces.make_folder(session.key), quota=self.quota, uid=spaces.uid, gid=spaces.gid)

    def measure_workspace(self, key: str) -> int:
        """Returns the bytes on disk of the workspace of a session's key."""
        return _measure_workspace(self.workspaces, key)

    def trim_workspace(self, key: str, limits: Limits) -> None:
        """Makes a workspace fit its limits after a run that exceeded them."""
        folder = self.workspaces.folder_path(key)
        trim_workspace(folder, most_bytes=limits.workspace_mb << 20, most_files=limits.workspace_files)

    async def adopt_old_folders(self) -> None:
        """Finds the folders of sessions under the names that early versions gave them, and renames them."""
        root = self.workspaces.root
        if await asyncio.to_thread(has_old_folders, root):
            await asyncio.to_thread(rename_old_folders, root, await self.sessions.list_early_keys())

    async def list_skills_as_tools(self, scope: SkillScope | None = None) -> tuple[Tool, ...]:
        """Returns the skills that ``scope`` can see, as tools; without a scope those of the local user."""
        return convert_summaries(await self.skills.list(scope or SkillScope(identity=LOCAL_IDENTITY)))

    async def prune(self) -> tuple[SessionRecord, ...]:
        """Deletes the sessions that are too old, too many or too large, and returns them.

        Raises:
            Conflict: the clock is in doubt, so it is not known which sessions are old.
        """
        if (problem := self.clock_guard.problem) is not None:
            raise Conflict(f"{problem}: nothing is deleted as old. If the clock is right, run `{CONFIRM_COMMAND}`")
        await self.seen_servers.forget_gone_skills()
        await self.conversations.prune()
        return await self.sessions.prune(size_of=self.measure_workspace)

    async def prune_as_it_fills(self) -> None:
        """Deletes results whose short life is over, and what exceeds the bytes of the tenants that have used sessions lately."""
        await self.sessions.prune_results()
        if tenants := self.used_disk.list_recent_tenants():
            await self.sessions.prune(size_of=self.used_disk.read_size, tenants=tenants)


@asynccontextmanager
async def open_session_stores(config: Config) -> AsyncGenerator[SessionStores]:
    """Opens the store and the session stores in it, and closes them at the end.

    Raises:
        StoreUnavailable: the store cannot be opened.
        ConfigError: its address or its key cannot be used.
    """
    key = load_ledger_key(config)
    async with open_config_store(config) as store:
        guard = ClockGuard(store)
        await guard.sync()
        stores = build_session_stores(store, config, derive_key(key, "skills"), guard, RecordSeal(key))
        await stores.adopt_old_folders()
        yield stores


def build_session_stores(store: Store, config: Config, key: bytes, guard: ClockGuard, seal: BytesSeal) -> SessionStores:
    """Builds the session stores over a store that is open already."""
    spaces = Workspaces(root=config.state_dir / "workspaces", uid=NOBODY_ID, gid=NOBODY_ID)
    kept, skill_rules = config.sessions, config.skills
    used = UsedDisk(partial(_measure_workspace, spaces))
    return SessionStores(
        sessions=SessionRegister(
            store,
            SessionRetention(
                seconds=kept.days * 86_400,
                bytes_per_tenant=kept.total_mb << 20,
                sessions_per_tenant=kept.most,
                results_per_tenant=kept.results_most,
            ),
            remove_files=spaces.remove,
            forget=_build_forget_statements,
            clock=guard.now,
            may_expire=guard.may_expire,
            note_use=used.note_use,
        ),
        values=KeyValueStore(store, KeyValueRules(bytes=kept.kv_bytes, keys=kept.kv_keys, tenant_bytes=kept.kv_total_bytes)),
        skills=SkillStore(store, SkillRules(**dict(skill_rules)), key),
        workspaces=spaces,
        quota=build_file_quota(config.sandbox.limits.to_limits()),
        seen_servers=SeenSources(store, time.time),
        endings=SessionEndings(store),
        clock_guard=guard,
        used_disk=used,
        conversations=ConversationStore(store, _build_conversation_rules(config), seal, guard.now),
    )


def _build_conversation_rules(config: Config) -> ConversationRules:
    chat = config.chat
    return ConversationRules(seconds=chat.days * 86_400, per_caller=chat.per_caller, bytes=chat.conversation_mb << 20)


def _measure_workspace(workspaces: Workspaces, key: str) -> int:
    try:
        return measure_disk_usage(workspaces.folder_path(key))
    except NotFound:
        return 0  # there is no folder, or it was removed in the meantime


def _build_forget_statements(session: SessionRecord) -> tuple[Statement, ...]:
    """Returns the statements that delete what belongs to a session besides its files."""
    return (
        *forget_values(session.handle),
        *forget_skills(session.handle, session.owner.tenant),
        *build_forget_statements(session.key, name_files_scope(make_folder_name(session.key))),
        *session_redactors.build_forget_statements(session.key),
    )


def build_file_quota(limits: Limits) -> FileQuota:
    """Returns what a workspace may hold, in the units that uploads are counted in."""
    return FileQuota(bytes=limits.workspace_mb << 20, files=limits.workspace_files, file_bytes=limits.file_mb << 20)


def make_skill_row(skill: Skill | SkillSummary) -> dict[str, Any]:
    """Returns a skill as a row of a listing: everything but its source."""
    summary = skill if isinstance(skill, SkillSummary) else summarize_skill(skill)
    return {
        "name": skill.name,
        "version": skill.version,
        "level": skill.level,
        "description": summary.description,
        "requires": list(skill.requires),
        "tested": skill.tested,
        "hash": skill.hash,
        "created": skill.created,
    }


def read_whole_file(files: WorkspaceFiles, path: str) -> bytes:
    """Reads a whole file of a workspace in ranges: as large as the quota allows.

    Raises:
        LimitExceeded: the file is larger than files may be, for example because it is sparse.
    """
    first = files.read(path, length=READ_BYTES)
    if first.size > files.quota.file_bytes:
        text = f"{path} claims {first.size:,} bytes, more than a file may have"
        raise LimitExceeded(text, limit="file_mb", value=files.quota.file_bytes >> 20)
    parts = [first.body]
    while parts[-1] and sum(map(len, parts)) < first.size:
        parts.append(files.read(path, offset=sum(map(len, parts)), length=READ_BYTES).body)
    return b"".join(parts)
