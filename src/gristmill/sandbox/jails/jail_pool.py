"""Warm jails: sealed children wait for code, used ones are killed, and the pool is refilled while no caller waits."""

import asyncio
import itertools
import json
import os
import shutil
import socket
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import SandboxCrashed, SandboxError, SandboxUnavailable
from gristmill.model import Isolation, Limits
from gristmill.sandbox import jail_layout as layout
from gristmill.sandbox.base import have_same_seal
from gristmill.sandbox.guest_programs import GuestProgram
from gristmill.sandbox.jail_plan import SCRATCH, WORKSPACES, JailSpec, make_child_values, plan_jail
from gristmill.sandbox.jails.disk_watch import DiskWatch
from gristmill.sandbox.jails.jail import Jail
from gristmill.sandbox.jails.jail_handles import JailHandles
from gristmill.sandbox.jails.keeper_process import Keeper
from gristmill.sandbox.jails.session_processes import SessionProcesses
from gristmill.sandbox.jails.template_process import TemplateOrder, TemplateProcess
from gristmill.sandbox.linux import cgroups
from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.linux.dead_groups import release_locks
from gristmill.sandbox.linux.group_folders import remove_group_trees
from gristmill.sandbox.run import frames as bridge
from gristmill.sandbox.run.captured_output import CapturedOutput
from gristmill.sandbox.run.jail_run import make_nonce

SPAWN_SECONDS = 30.0
FIRST_CALL_SECONDS = 0.05
RETRY_SECONDS = 5.0
"""How long after a failure to make a child the next attempt is made."""
ANSWER_SECONDS = 0.002
"""The time that an answer takes to reach its caller: the used child is replaced after that, if that can wait."""
MOST_PRIMED = 2
"""How many of the next children have rehearsed a program: the first should have finished when its caller comes."""
_numbers = itertools.count(1)


class PoolOptions(Struct, frozen=True, kw_only=True):
    """The settings that a pool is made with."""

    limits: Limits
    warm: int
    concurrency: int
    preload: tuple[str, ...]
    site: Path | None
    workspaces: Path | None
    scratch: Path
    catalog: Path | None = None
    use_cgroups: bool = True
    require_cgroups: bool = False
    uid: int = 65_534
    gid: int = 65_534
    program: GuestProgram | None = None
    """What runs the code, if it is not our Python guest."""
    programs: tuple[str, ...] = ()
    """Programs of this machine that code may start, by name."""


class LinuxPool:
    """A pool of jails forked from one template. Implements ``Pool``."""

    def __init__(self, options: PoolOptions, level: Isolation) -> None:
        self.isolation: Isolation = level
        self.options = options
        self.cgroups = cgroups.CgroupHierarchy("none", reason="switched off by configuration")
        self._run_slots = asyncio.Semaphore(options.concurrency)
        self._warm: deque[Jail] = deque()
        self._live: set[Jail] = set()
        self._groups: list[cgroups.ControlGroup] = []
        self._filling = 0
        self._awaiting_replacement = 0  # children that are about to be replaced
        self._modules: str | None = None  # the typed modules of the last run: the next run will most likely import from the same
        self._matching_limits = options.limits  # the limits last found to fit our children: most callers pass the same object
        self._tasks: set[asyncio.Task[None]] = set()
        self._template: TemplateProcess | None = None
        self._launching_template: TemplateProcess | None = None  # the first one, until a caller has waited for it
        # A template, and the values that most of its children are made with.
        self._common_values: tuple[TemplateProcess | None, bytes] = None, b""
        self._template_lock = asyncio.Lock()  # one template is started at a time, however many callers find it missing
        self._base_bytes = 0
        self._closed = False
        self.problem: str | None = None
        self._loop = asyncio.get_running_loop()
        self._admission_thread = ThreadPoolExecutor(1, "gristmill-admission")

    @classmethod
    async def open(cls, options: PoolOptions, level: Isolation, keeper: Keeper | None = None) -> "LinuxPool":
        """Starts the template, through ``keeper`` if there is one already, and fills the pool.

        Raises:
            SandboxUnavailable: a step towards ``level`` failed; the message names it.
        """
        pool = cls(options, level)
        try:
            pool._prepare_cgroups()
            # Before any wait: the caller has other work to do meanwhile.
            pool._launching_template = TemplateProcess.launch(pool._make_order(), keeper)
            await asyncio.to_thread(_clear_scratch, options.scratch)
            # The first child is the proof: kernel features that only a child's steps need must fail here, not at the first run.
            pool._warm.append(await pool._spawn(options.limits))
        except SandboxCrashed as error:
            await pool.close()
            raise SandboxUnavailable(error.message) from None
        except BaseException:
            await pool.close()
            raise
        pool._start_task(pool._fill_later())
        return pool

    async def wait_until_filled(self) -> None:
        """Waits until the configured number of children is ready for code."""
        while len(self._warm) < self.options.warm and (self._tasks or self._awaiting_replacement):
            if self._tasks:
                await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(ANSWER_SECONDS)

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    @property
    def warm_children(self) -> int:
        """The number of children that wait for code."""
        return len(self._warm)

    @property
    def missing_modules(self) -> tuple[str, ...]:
        """Modules that were to be preloaded but are not installed."""
        return self._template.missing if self._template else ()

    def states(self) -> dict[str, int]:
        """Counts the children that wait for code, run a program, are kept for their session, or are starting."""
        busy = sum(jail.busy for jail in self._live)
        kept = sum(jail.state == "kept" and not jail.busy for jail in self._live)
        starting = len(self._live) - len(self._warm) - busy - kept
        return {"waiting": len(self._warm), "busy": busy, "kept": kept, "starting": starting}

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Takes one of the places for executions that run at the same time; places are granted in order of arrival."""
        return self._run_slots

    @asynccontextmanager
    async def lease(self, limits: Limits) -> AsyncGenerator[Jail]:
        """Leases a fresh jail for one job; it is destroyed afterwards."""
        async with self._run_slots:
            jail = self._take_warm(limits) or await self._spawn(limits)
            try:
                yield jail
            finally:
                jail.kill()  # now, so that none of its processes continues; releasing it can wait until the caller has its answer
                self._awaiting_replacement += 1
                self._loop.call_later(0.0 if self._is_running_short() else ANSWER_SECONDS, self._replace_used_jail, jail)

    async def open_session(self, limits: Limits, workspace: Path) -> Jail:
        """Opens a jail whose interpreter outlives a job; the caller closes it.

        Raises:
            SandboxError: it could not be sealed.
        """
        jail = await self._spawn(limits, workspace=workspace, keep=True)
        try:
            if self.isolation == "namespaces":
                self._attach_session_worker(jail)
            else:
                jail.keep(jail.handles, None)
        except BaseException:
            self._release_jail(jail)
            raise
        return jail

    async def close(self) -> None:
        """Ends the pool, and waits until all its processes have ended."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for jail in list(self._live):
            self._release_jail(jail)
        for template in (self._template, self._launching_template):
            if template is not None:
                await template.close()
        self._admission_thread.shutdown()
        for group in self._groups:
            group.close()
        self._groups.clear()
        for _ in range(100):
            if remove_group_trees(self.cgroups.unique_folders()):
                break
            await asyncio.sleep(0.02)  # the last processes have not fully ended yet
        locks, self.cgroups = self.cgroups.locks, replace_fields(self.cgroups, locks=())
        release_locks(locks)

    def _is_running_short(self) -> bool:
        """Whether so few children wait that the next caller may find none."""
        return len(self._warm) * 2 < self.options.warm

    # -- making jails ---------------------------------------------------------------------------------------------------

    def _take_warm(self, limits: Limits) -> Jail | None:
        if limits is not self._matching_limits and have_same_seal(limits, self.options.limits):
            self._matching_limits = limits
        while self._warm and limits is self._matching_limits:
            jail = self._warm.popleft()
            if jail.alive:
                return jail
            self._release_jail(jail)
        return None

    async def _spawn(self, limits: Limits, **kind: Any) -> Jail:
        try:
            async with asyncio.timeout(SPAWN_SECONDS):
                try:
                    return await self._spawn_from(await self._get_running_template(), limits, **kind)
                except SandboxError:
                    # The template may have been killed meanwhile, noticed or not: try once more.
                    return await self._spawn_from(await self._get_running_template(), limits, **kind)
        except TimeoutError:
            raise SandboxUnavailable(f"no sandbox was ready within {SPAWN_SECONDS:.0f} s") from None
        except OSError as error:  # no descriptors, no memory, no room for a folder: another attempt may succeed
            raise SandboxUnavailable(f"no sandbox could be made: {error.strerror or type(error).__name__}") from None

    async def _spawn_from(
        self, template: TemplateProcess, limits: Limits, *, workspace: Path | None = None, keep: bool = False
    ) -> Jail:
        jail = self._make_jail(limits, workspace)
        try:
            await self._fork(template, jail, self._encode_values(template, jail, workspace, keep=keep), keep=keep)
            await jail.ready
        except BaseException:
            self._release_jail(jail)
            raise
        return jail

    def _make_jail(self, limits: Limits, workspace: Path | None, nonce: str = "") -> Jail:
        jail = Jail(self.isolation, limits, self._base_bytes, nonce)
        jail.release_to_pool = self._release_jail
        if self.options.catalog is not None:
            jail.catalog = layout.CATALOG if self.isolation == "namespaces" else str(self.options.catalog)
        if workspace is not None:
            jail.watch = DiskWatch((workspace,), limits, jail.processes)
        self._live.add(jail)
        return jail

    def _attach_session_worker(self, jail: Jail) -> None:
        """Attaches the jail to its worker: the child's first process runs no code, it only reaps."""
        handles = jail.handles
        try:
            session = SessionProcesses(handles.pidfd, handles.pid, tree.TreeWatch(handles.pid))
        except OSError:
            raise SandboxCrashed("the session ended before it was ready") from None
        if (group := handles.group) is not None:  # branches are in it too: it can be used again when none is left
            session.on_ended = lambda: self._groups.append(group)
        try:
            self._attach_worker(jail, session, handles, jail.ready.result())
        except BaseException:
            session.init.close()
            raise

        async def branch(origin: Jail, seconds: float) -> Jail:
            return await self._branch_session(origin, session, seconds)

        if self.options.program is None:  # only our own guest can branch
            jail.branch = branch

    def _attach_worker(self, jail: Jail, session: SessionProcesses, handles: JailHandles, inner_pid: int) -> None:
        worker = session.find_new_worker(inner_pid)
        try:
            pidfd = os.pidfd_open(worker) if worker is not None else -1
        except ProcessLookupError:
            pidfd = -1
        if worker is None or pidfd < 0:
            raise SandboxCrashed("the session ended before it was ready")
        try:
            jail.keep(replace(handles, pidfd=pidfd, pid=worker), session)
        except BaseException:
            os.close(pidfd)
            raise

    async def _branch_session(self, origin: Jail, session: SessionProcesses, seconds: float) -> Jail:
        nonce = make_nonce()
        branch = self._make_jail(origin.limits, None, nonce)
        branch.state = "kept"
        branch.branch = origin.branch
        if origin.watch is not None:
            branch.watch = DiskWatch(origin.watch.folders, origin.limits, branch.processes)
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        output = CapturedOutput(read, origin.limits.output_bytes)
        link = bridge.GuestLink(ours, branch.on_message, branch.on_end)
        try:
            with theirs:
                origin.handles.link.send(bridge.encode_frame("fork", nonce), [theirs.fileno(), write])
                os.close(write)
            origin.resume()
            async with asyncio.timeout(seconds):
                inner_pid = await branch.ready
            handles = JailHandles(link=link, output=output, pidfd=-1, pid=-1, group=None)
            self._attach_worker(branch, session, handles, inner_pid)
        except BaseException as error:
            link.close()
            output.close()
            self._release_jail(branch)
            if isinstance(error, TimeoutError):
                origin.give_up(f"it did not branch within {seconds:g} s")
                raise SandboxCrashed(
                    f"the session did not branch within {seconds:g} s and was ended: its variables are gone"
                ) from None
            raise
        branch.rest()
        return branch

    async def _fork(self, template: TemplateProcess, jail: Jail, values: bytes, *, keep: bool) -> None:
        with ExitStack() as opened:  # what a failed start has opened is closed
            ours, theirs = socket.socketpair()
            opened.callback(ours.close)
            with theirs:
                read, write = os.pipe()
                output = CapturedOutput(read, jail.limits.output_bytes)
                opened.callback(output.close)
                try:
                    pidfd = await template.spawn(values, [theirs.fileno(), write], jail.on_first_process_exit, keep=keep)
                finally:
                    os.close(write)
            opened.callback(os.close, pidfd)
            pid = tree.read_host_pid(pidfd)
            group = self._take_group()
            link = bridge.GuestLink(ours, jail.on_message, jail.on_end)
            jail.attach(JailHandles(link=link, output=output, pidfd=pidfd, pid=pid, group=group))
            opened.pop_all()  # from here on they belong to the jail
        if group is not None:
            try:
                # In a thread: when a process is moved, the kernel sometimes waits for all CPUs, which takes ten milliseconds.
                limits = _make_group_limits(jail.limits, self.options.program)
                await self._loop.run_in_executor(self._admission_thread, group.admit, pid, limits)
            except ProcessLookupError:
                raise SandboxError("the sandbox ended before it was admitted") from None
        link.send(b"+")

    def _encode_values(self, template: TemplateProcess, jail: Jail, workspace: Path | None, *, keep: bool) -> bytes:
        ordinary = workspace is None and not keep and self.isolation == "namespaces" and jail.limits is self.options.limits
        if ordinary and self._common_values[0] is template:
            return self._common_values[1]
        program = self.options.program
        values = make_child_values(
            jail.limits, base_data=program.base_data if program else template.base_data, level=self.isolation, keep=keep,
            threads=program.threads if program else 0,
        )  # fmt: skip
        if self.isolation == "landlock":
            jail.scratch = self._make_scratch_folder()
            place, tmp = str(workspace or jail.scratch / "workspace"), str(jail.scratch / "tmp")
            jail.watch = DiskWatch((Path(place), Path(tmp)), jail.limits, jail.processes)
            values |= {"workspace": place, "tmp": tmp, "env": {"HOME": place, "TMPDIR": tmp}}
        else:
            values["workspace"] = f"{WORKSPACES}/{workspace.name}" if workspace else f"{SCRATCH}/workspace"
        text = json.dumps(values).encode()
        if ordinary:
            self._common_values = template, text
        return text

    def _make_scratch_folder(self) -> Path:
        """Makes a folder for a run's private files on the host's disk; needed without a mount namespace."""
        folder = self.options.scratch / f"{os.getpid()}-{next(_numbers)}"
        for path in (folder, folder / "workspace", folder / "tmp"):
            path.mkdir(mode=0o700, parents=True)
            if os.geteuid() == 0:
                os.chown(path, self.options.uid, self.options.gid)
        return folder

    # -- ending jails ---------------------------------------------------------------------------------------------------

    def _release_jail(self, jail: Jail) -> None:
        """Kills the jail now; its group and its scratch folder are reclaimed once the kernel reports its exit."""
        self._live.discard(jail)
        was_started = jail.has_started
        group = jail.release()

        def reclaim_resources(_: object) -> None:
            if group is not None:
                self._groups.append(group)
            if jail.scratch is not None:
                shutil.rmtree(jail.scratch, ignore_errors=True)

        if jail.exited.done() or not was_started:
            reclaim_resources(None)
        else:
            jail.exited.add_done_callback(reclaim_resources)

    def _take_group(self) -> cgroups.ControlGroup | None:
        if self.cgroups.version == "none":
            return None
        return self._groups.pop() if self._groups else cgroups.ControlGroup(self.cgroups, f"run-{next(_numbers)}")

    # -- the template ---------------------------------------------------------------------------------------------------

    def _prepare_cgroups(self) -> None:
        if self.options.use_cgroups:
            self.cgroups = cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-{next(_numbers)}")
        if self.options.require_cgroups and self.cgroups.version == "none":
            raise SandboxUnavailable(
                f"cgroups are required by configuration but not available: {self.cgroups.reason}; run under a service "
                'manager that delegates them (systemd: `Delegate=yes`), or set sandbox.cgroups = "auto"'
            )

    async def _get_running_template(self) -> TemplateProcess:
        if self._template is not None and self._template.alive:
            return self._template
        async with self._template_lock:
            if self._closed:
                raise SandboxUnavailable("the pool is closed")
            if self._template is None or not self._template.alive:
                if self._template is not None:
                    await self._template.close()
                template, self._launching_template = self._launching_template or TemplateProcess.launch(self._make_order()), None
                await template.wait_until_ready()
                self._template = template
                self._base_bytes = self._template.base_bytes
        return self._template

    def _make_order(self) -> TemplateOrder:
        options = self.options
        spec = make_jail_spec(options, self.isolation)
        if self.isolation == "landlock" and spec.as_root and (closed := layout.find_closed_path(spec.layout)):
            raise SandboxUnavailable(
                f"at the landlock level code runs as user {options.uid}, who cannot read {closed}: use a Python and a Gristmill "
                "that every user can read (not below a closed home folder), or run as an ordinary user"
            )
        return TemplateOrder(
            level=self.isolation, plan=plan_jail(spec), preload=options.preload, site=spec.layout.site,
            workspace="/workspace" if self.isolation == "namespaces" else "", cgroups=self.cgroups.unique_folders(),
            program=options.program,
        )  # fmt: skip

    # -- refilling ------------------------------------------------------------------------------------------------------

    def _replace_used_jail(self, jail: Jail) -> None:
        self._awaiting_replacement -= 1
        self._modules = jail.modules
        self._release_jail(jail)
        self._refill()

    def _replace_dead_warm_jail(self, jail: Jail) -> None:
        """Replaces a jail that died while it waited for code."""
        if jail in self._warm and not self._closed:
            self._warm.remove(jail)
            self._release_jail(jail)
            self._refill()

    def _refill(self) -> None:
        while not self._closed and len(self._warm) + self._filling < self.options.warm:
            self._filling += 1
            self._start_task(self._fill_one())

    def _start_task(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fill_later(self) -> None:
        """Fills the pool after a moment, so that the first caller, who uses the first child, does not compete with the others."""
        await asyncio.sleep(FIRST_CALL_SECONDS)
        self._refill()

    async def _fill_one(self) -> None:
        try:
            jail = await self._spawn(self.options.limits)
        except (SandboxError, TimeoutError, OSError) as error:
            self.problem = str(error)
            self._loop.call_later(RETRY_SECONDS, self._refill)
            return  # the next lease tries again, too, and tells its caller the reason
        finally:
            self._filling -= 1
        self.problem = None
        self._warm.append(jail)
        jail.exited.add_done_callback(lambda _: self._replace_dead_warm_jail(jail))
        if not self._filling and not any(jail.busy for jail in self._live):
            for jail in itertools.islice(self._warm, MOST_PRIMED):
                jail.prime(self._modules)


def _clear_scratch(folder: Path) -> None:
    """Removes folders that a killed host has left behind; each folder is named after the process that made it."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        owner = entry.name.partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(entry, ignore_errors=True)


def _make_group_limits(limits: Limits, program: GuestProgram | None) -> cgroups.GroupLimits:
    threads = program.threads if program else 0
    return cgroups.GroupLimits(limits.memory_mb << 20, limits.processes + 1 + threads, limits.cpu_percent)


def make_jail_spec(options: PoolOptions, level: Isolation) -> JailSpec:
    """Collects the facts that this pool's plan depends on."""
    return JailSpec(
        level=level,
        layout=(layout.make_mounted_layout if level == "namespaces" else layout.make_host_layout)(
            options.site, options.catalog, options.programs
        ),
        as_root=os.geteuid() == 0,
        uid=options.uid,
        gid=options.gid,
        workspaces=str(options.workspaces) if options.workspaces else None,
        program=options.program,
    )
