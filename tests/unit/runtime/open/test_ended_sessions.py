"""A session that ended through one process is dropped by every other: interpreter, memory and files, also after a restart."""

import os
import time
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import pytest

from gristmill.model import Identity
from gristmill.runtime.open.ended_sessions import EndedSessions
from gristmill.session.files.workspace import Workspaces
from gristmill.session.session_endings import SessionEndings
from gristmill.session.session_register import SessionRegister, SessionRetention
from gristmill.store.base import Store
from gristmill.store.open_store import open_store
from gristmill.store.serving_processes import DEAD_SECONDS, ServingProcesses
from gristmill.store.store_identity import read_store_id

pytestmark = pytest.mark.anyio
ANN = Identity(tenant="acme", caller="ann")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await open_store(tmp_path / "store")
    yield opened
    await opened.close()


class Node:
    """One process with a disk of its own, over a store that it shares; its interpreters are a list of keys."""

    def __init__(self, store: Store, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.kept: list[str] = []
        self.dropped: list[str] = []
        self.workspaces = Workspaces(root=folder / "workspaces", uid=os.geteuid(), gid=os.getegid())
        rules = SessionRetention(seconds=1_000, bytes_per_tenant=1 << 30, sessions_per_tenant=100)
        self.sessions = SessionRegister(store, rules, remove_files=self.workspaces.remove)
        self.processes = ServingProcesses(store)
        self.ended = EndedSessions(
            sessions=self.sessions, endings=SessionEndings(store), processes=self.processes, workspaces=self.workspaces,
            list_kept=lambda: self.kept, drop_session=self.drop, read_store_id=partial(read_store_id, store), state_dir=folder,
        )  # fmt: skip

    async def drop(self, key: str) -> None:
        self.dropped.append(key)
        self.kept = [each for each in self.kept if each != key]

    async def use(self, name: str) -> str:
        """Uses a session as an execution does; returns its key."""
        key = (await self.sessions.open(name, identity=ANN)).key
        (self.workspaces.make_folder(key) / "file").write_text("secret")
        self.kept = [*self.kept, key]
        return key


@pytest.mark.requirement("T130")
async def test_a_session_deleted_through_one_node_is_dropped_by_the_other(store: Store, tmp_path: Path) -> None:
    here, there = Node(store, tmp_path / "here"), Node(store, tmp_path / "there")
    async with here.processes.announce(), there.processes.announce():
        key = await here.use("work")
        await there.use("work")
        assert await there.sessions.delete(await there.sessions.find_by_name("work", identity=ANN)) == 2
        await there.ended.sweep()
        assert here.workspaces.folder_path(key).exists()  # not reached from there
        assert [each.name for each in await there.sessions.list_deleting(identity=ANN)] == ["work"]
        await here.ended.sweep()
        assert (here.kept, here.workspaces.folder_path(key).exists()) == ([], False)
        assert await there.sessions.list_deleting(identity=ANN) == ()


@pytest.mark.requirement("T130")
async def test_an_interpreter_that_was_opened_after_the_end_is_dropped(store: Store, tmp_path: Path) -> None:
    here, there = Node(store, tmp_path / "here"), Node(store, tmp_path / "there")
    async with here.processes.announce(), there.processes.announce():
        record = await here.sessions.open("work", identity=ANN)  # an execution is let in, and waits for its turn
        await there.sessions.delete(record)
        await here.ended.sweep()
        (here.workspaces.make_folder(record.key) / "file").touch()
        here.kept = [record.key]
        await here.ended.sweep()
        assert (here.kept, here.workspaces.folder_path(record.key).exists()) == ([], False)


@pytest.mark.requirement("T130")
async def test_files_of_a_session_deleted_while_a_node_was_down_are_removed_when_it_starts(store: Store, tmp_path: Path) -> None:
    here, there = Node(store, tmp_path / "here"), Node(store, tmp_path / "there")
    await here.ended.remove_orphans()
    key, other = await here.use("work"), await here.use("other")
    await there.sessions.delete(await there.sessions.find_by_name("work", identity=ANN))
    again = Node(store, tmp_path / "here")
    await again.ended.remove_orphans()
    assert (again.workspaces.folder_path(key).exists(), again.workspaces.folder_path(other).exists()) == (False, True)


async def test_a_session_that_lives_keeps_its_interpreter_and_its_files(store: Store, tmp_path: Path) -> None:
    here = Node(store, tmp_path / "here")
    async with here.processes.announce():
        await here.ended.remove_orphans()
        key = await here.use("work")
        await here.ended.sweep()
        await here.ended.remove_orphans()
    assert (here.kept, here.dropped, here.workspaces.folder_path(key).exists()) == ([key], [], True)


async def test_a_folder_of_another_store_is_left_alone(store: Store, tmp_path: Path) -> None:
    here = Node(store, tmp_path / "here")
    await here.ended.remove_orphans()
    key = await here.use("work")
    empty = await open_store(tmp_path / "another")
    try:
        await Node(empty, tmp_path / "here").ended.remove_orphans()
    finally:
        await empty.close()
    assert here.workspaces.folder_path(key).exists()


async def test_a_branch_keeps_the_files_of_an_ended_origin(store: Store, tmp_path: Path) -> None:
    here, there = Node(store, tmp_path / "here"), Node(store, tmp_path / "there")
    await here.ended.remove_orphans()
    trunk = await here.use("trunk")
    branch = (await here.sessions.create("branch", identity=ANN)).key
    here.workspaces.share(trunk, branch)
    await there.sessions.delete(await there.sessions.find_by_name("trunk", identity=ANN))
    await here.ended.remove_orphans()
    assert os.listdir(here.workspaces.make_folder(branch)) == ["file"]
    await there.sessions.delete(await there.sessions.find_by_name("branch", identity=ANN))
    await here.ended.remove_orphans()
    assert os.listdir(here.workspaces.root) == []


async def test_a_process_that_has_died_is_not_waited_for(store: Store, tmp_path: Path) -> None:
    here = Node(store, tmp_path / "here")
    seen = time.time() - DEAD_SECONDS - 1
    await store.write(("INSERT INTO instances (id, seen) VALUES (?, ?)", ("elsewhere.1.1.x", seen)))
    async with here.processes.announce():
        await here.use("work")
        await here.sessions.delete(await here.sessions.find_by_name("work", identity=ANN))
        await here.ended.sweep()
        assert (await here.sessions.list_deleting(identity=ANN), await store.read("SELECT * FROM session_endings")) == ((), [])
