"""Drops what this process keeps of sessions that ended elsewhere: interpreters, files, and what is remembered of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from gristmill.config.atomic_write import write_file_atomically
from gristmill.errors import Error
from gristmill.session.files.workspace import Workspaces
from gristmill.session.session_endings import SessionEndings
from gristmill.session.session_register import SessionRegister, read_generation
from gristmill.store.serving_processes import ServingProcesses

log = logging.getLogger(__name__)

SWEEP_SECONDS = 2.0
"""How often the ends of sessions are looked for."""
STORE_ID_FILE = "store-id"


class EndedSessions(Struct, frozen=True, kw_only=True):
    """Keeps this process and its disk in step with the sessions that the store knows."""

    sessions: SessionRegister
    endings: SessionEndings
    processes: ServingProcesses
    workspaces: Workspaces
    list_kept: Callable[[], Sequence[str]]
    """Returns the keys of the sessions that keep an interpreter here."""
    drop_session: Callable[[str], Awaitable[None]]
    """Drops the interpreter of a session's key, and what is remembered of the session."""
    read_store_id: Callable[[], Awaitable[str]]
    state_dir: Path

    async def run_forever(self) -> None:
        """Removes files that an earlier process left behind, then drops ended sessions at intervals, without end."""
        try:
            await self.remove_orphans()
        except (Error, OSError) as error:
            log.warning("files of ended sessions could not be removed: %s", error)
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except (Error, OSError) as error:
                log.warning("sessions that have ended elsewhere could not be dropped: %s", error)

    async def sweep(self) -> None:
        """Drops the sessions that have ended since the last time, and confirms it; confirms for processes that have ended."""
        ours = self.processes.id
        unconfirmed = await self.endings.list_unconfirmed()
        await self._drop_ended(unconfirmed.get(ours, frozenset()))
        for process, handles in unconfirmed.items():
            if process == ours or not await self.processes.lives_elsewhere(process):
                await self.endings.confirm(process, handles)
        # An execution that was let in just before the end may have opened an interpreter after it was dropped.
        kept = {generation: key for key in self.list_kept() if (generation := read_generation(key))}
        live = await self.sessions.find_live_generations(kept) if kept else frozenset[str]()
        for generation in kept.keys() - live:
            await self.drop_key(kept[generation])

    async def remove_orphans(self) -> None:
        """Removes the folders of sessions that ended while no process of this state folder ran.

        Only if the folder belongs to the store that is open: to another store all its sessions would be unknown.
        """
        if not await asyncio.to_thread(self._is_our_folder, await self.read_store_id()):
            return
        found = await asyncio.to_thread(self.workspaces.list_generations)
        # Listed before the store is asked: a session is in the store before it has a folder.
        live = await self.sessions.find_live_generations(found)
        gone = {generation: names for generation, names in found.items() if generation not in live}
        await asyncio.to_thread(self.workspaces.remove_generations, gone)

    async def _drop_ended(self, handles: frozenset[str]) -> None:
        for record in await self.sessions.list_ended(handles):
            await self.drop_key(record.key)

    async def drop_key(self, key: str) -> None:
        """Drops everything that this process and its disk keep of the session with that key."""
        await self.drop_session(key)
        await asyncio.to_thread(self.workspaces.remove, key)

    def _is_our_folder(self, store_id: str) -> bool:
        file = self.state_dir / STORE_ID_FILE
        try:
            known = file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            write_file_atomically(file, store_id.encode())
            return True
        if known != store_id:
            log.warning("%s belongs to another store: files of ended sessions are left there", self.state_dir)
        return known == store_id
