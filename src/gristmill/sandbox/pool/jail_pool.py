"""Warm jails: sealed children wait for code, used ones die, refilling happens off the hot path."""

import asyncio
import itertools
import json
import os
import shutil
import socket
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gristmill.errors import SandboxCrashed, SandboxError, SandboxUnavailable
from gristmill.model import Isolation, Limits
from gristmill.sandbox import jail_layout as layout
from gristmill.sandbox.base import same_seal
from gristmill.sandbox.jail_plan import SCRATCH, WORKSPACES, JailSpec, plan, requested
from gristmill.sandbox.linux import cgroups
from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.pool.keeper_process import Keeper
from gristmill.sandbox.pool.session_processes import Family
from gristmill.sandbox.pool.template_process import Template, TemplateOrder
from gristmill.sandbox.run import frames as bridge
from gristmill.sandbox.run.captured_output import Output
from gristmill.sandbox.run.disk_watch import DiskWatch
from gristmill.sandbox.run.jail import Handles, Jail
from gristmill.values import dataclass

SPAWN_SECONDS = 30.0
FIRST_CALL_SECONDS = 0.05
AGAIN_SECONDS = 5.0
"""After a child that could not be made, the next one is tried."""
ANSWER_SECONDS = 0.002
"""What a caller's answer takes on its way out: a child that replaces the used one is made after that, if it can wait."""
PRIMED = 2
"""How many of those next in line have rehearsed: the first is to be done with it when its caller comes."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """What a pool is made of."""

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


class LinuxPool:
    """A pool of jails forked from one template. Implements ``Pool``."""

    def __init__(self, options: PoolOptions, level: Isolation) -> None:
        self.isolation: Isolation = level
        self.options = options
        self.cgroups = cgroups.Hierarchy("none", reason="switched off by configuration")
        self._places = asyncio.Semaphore(options.concurrency)
        self._warm: deque[Jail] = deque()
        self._live: set[Jail] = set()
        self._groups: list[cgroups.Group] = []
        self._filling = 0
        self._used = 0  # children that are about to be replaced
        self._modules: str | None = None  # those of the last run: the next will most likely import from the same
        self._sealed_like = options.limits  # the limits last found to fit our children: most callers ask with the same ones
        self._tasks: set[asyncio.Task[None]] = set()
        self._template: Template | None = None
        self._launched: Template | None = None  # the first one, until somebody has waited for it
        self._ordinary: tuple[Template | None, bytes] = None, b""  # what most children of a template are made with
        self._starting = asyncio.Lock()  # one template at a time, however many callers find it gone
        self._base_bytes = 0
        self._closed = False
        self.problem: str | None = None
        self._loop = asyncio.get_running_loop()
        self._porter = ThreadPoolExecutor(1, "gristmill-porter")

    @classmethod
    async def open(cls, options: PoolOptions, level: Isolation, keeper: Keeper | None = None) -> "LinuxPool":
        """Start the template, from ``keeper`` if there is one already, and fill the pool.

        Raises:
            SandboxUnavailable: a step towards ``level`` failed; the message names it.
        """
        pool = cls(options, level)
        try:
            pool._prepare_cgroups()
            pool._launched = Template.launch(pool._order(), keeper)  # before any wait: whoever opens us has more to do meanwhile
            await asyncio.to_thread(_clear_scratch, options.scratch)
            # The first child is the proof: what only a child's steps ask of the kernel must fail here, not at the first run.
            pool._warm.append(await pool._spawn(options.limits))
        except SandboxCrashed as error:
            await pool.close()
            raise SandboxUnavailable(error.message) from None
        except BaseException:
            await pool.close()
            raise
        pool._begin(pool._fill_later())
        return pool

    async def filled(self) -> None:
        """Wait until as many children wait as were asked for."""
        while len(self._warm) < self.options.warm and (self._tasks or self._used):
            if self._tasks:
                await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(ANSWER_SECONDS)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def waiting(self) -> int:
        """Children that wait for code."""
        return len(self._warm)

    @property
    def missing(self) -> tuple[str, ...]:
        """Modules that were to be preloaded but are not installed."""
        return self._template.missing if self._template else ()

    def states(self) -> dict[str, int]:
        """How many children wait for code, run some, are kept for their session, or are about to be one of these."""
        busy = sum(jail.busy for jail in self._live)
        kept = sum(jail.state == "kept" and not jail.busy for jail in self._live)
        starting = len(self._live) - len(self._warm) - busy - kept
        return {"waiting": len(self._warm), "busy": busy, "kept": kept, "starting": starting}

    def turn(self) -> AbstractAsyncContextManager[None]:
        """A place among those that may run at the same time, in order of arrival."""
        return self._places

    @asynccontextmanager
    async def lease(self, limits: Limits) -> AsyncGenerator[Jail]:
        """A fresh jail for one job; destroyed afterwards."""
        async with self._places:
            jail = self._take_warm(limits) or await self._spawn(limits)
            try:
                yield jail
            finally:
                jail.kill()  # now, so that nothing of it runs on; the funeral can wait until the caller has its answer
                self._used += 1
                self._loop.call_later(0.0 if self._is_short() else ANSWER_SECONDS, self._replace, jail)

    async def open_session(self, limits: Limits, workspace: Path) -> Jail:
        """A jail whose interpreter lives on; the caller closes it.

        Raises:
            SandboxError: it could not be sealed.
        """
        jail = await self._spawn(limits, workspace=workspace, keep=True)
        if self.isolation == "namespaces":
            self._found_family(jail)
        return jail

    async def close(self) -> None:
        """End everything, and wait until it has ended."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for jail in list(self._live):
            self._bury(jail)
        for template in (self._template, self._launched):
            if template is not None:
                await template.close()
        self._porter.shutdown()
        for group in self._groups:
            group.close()
        self._groups.clear()
        for _ in range(100):
            if cgroups.remove_trees(self.cgroups.unique()):
                break
            await asyncio.sleep(0.02)  # the last processes are still dying

    def _is_short(self) -> bool:
        """Whether so few children wait that the next caller may find none."""
        return len(self._warm) * 2 < self.options.warm

    # -- making jails ---------------------------------------------------------------------------------------------------

    def _take_warm(self, limits: Limits) -> Jail | None:
        if limits is not self._sealed_like and same_seal(limits, self.options.limits):
            self._sealed_like = limits
        while self._warm and limits is self._sealed_like:
            jail = self._warm.popleft()
            if jail.alive:
                return jail
            self._bury(jail)
        return None

    async def _spawn(self, limits: Limits, **kind: Any) -> Jail:
        try:
            async with asyncio.timeout(SPAWN_SECONDS):
                try:
                    return await self._spawn_from(await self._running_template(), limits, **kind)
                except SandboxError:
                    # The template may have been killed while we asked, known to us or not yet: one more try.
                    return await self._spawn_from(await self._running_template(), limits, **kind)
        except TimeoutError:
            raise SandboxUnavailable(f"no sandbox was ready within {SPAWN_SECONDS:.0f} s") from None

    async def _spawn_from(self, template: Template, limits: Limits, *, workspace: Path | None = None, keep: bool = False) -> Jail:
        jail = self._new_jail(limits, workspace)
        try:
            await self._fork(template, jail, self._values(template, jail, workspace), keep=keep)
            await jail.ready
        except BaseException:
            self._bury(jail)
            raise
        return jail

    def _new_jail(self, limits: Limits, workspace: Path | None) -> Jail:
        jail = Jail(self.isolation, limits, self._base_bytes)
        jail.bury = self._bury
        if self.options.catalog is not None:
            jail.catalog = layout.CATALOG if self.isolation == "namespaces" else str(self.options.catalog)
        if workspace is not None:
            jail.watch = DiskWatch(workspace, limits, jail.processes)
        self._live.add(jail)
        return jail

    def _found_family(self, jail: Jail) -> None:
        """The child's first process only keeps house; from here on the jail is its worker."""
        handles = jail.handles
        family = Family(handles.pidfd, handles.pid, tree.Watch(handles.pid))
        jail.exited.add_done_callback(lambda _: family.gone())
        self._adopt(jail, family, handles, jail.ready.result())

        async def branch(origin: Jail) -> Jail:
            return await self._branch(origin, family)

        jail.branch = branch

    def _adopt(self, jail: Jail, family: Family, handles: Handles, inner_pid: int) -> None:
        worker = family.locate(inner_pid)
        if worker is None:
            raise SandboxError("the session ended before it was ready")
        family.workers.add(worker)
        jail.attach(replace(handles, pidfd=os.pidfd_open(worker), pid=worker, family=family, watch=tree.Watch(worker)))

    async def _branch(self, origin: Jail, family: Family) -> Jail:
        branch = self._new_jail(origin.limits, None)
        branch.state = "kept"
        branch.watch, branch.branch = origin.watch, origin.branch
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        output = Output(read, origin.limits.output_bytes)
        link = bridge.Link(ours, branch.on_message, branch.on_end)
        try:
            with theirs:
                origin.handles.link.send(bridge.encode("fork"), [theirs.fileno(), write])
                os.close(write)
            async with asyncio.timeout(SPAWN_SECONDS):
                inner_pid = await branch.ready
            handles = Handles(link=link, output=output, pidfd=-1, pid=-1, group=None)
            self._adopt(branch, family, handles, inner_pid)
        except BaseException:
            link.close()
            output.close()
            raise
        origin.exited.add_done_callback(lambda done: branch.on_exit(done.result()))
        return branch

    async def _fork(self, template: Template, jail: Jail, values: bytes, *, keep: bool) -> None:
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        output = Output(read, jail.limits.output_bytes)
        try:
            with theirs:
                try:
                    pidfd = await template.spawn(values, [theirs.fileno(), write], jail.on_exit, keep=keep)
                finally:
                    os.close(write)
        except BaseException:
            ours.close()
            output.close()
            raise
        pid = tree.host_pid(pidfd)
        group = self._group()
        link = bridge.Link(ours, jail.on_message, jail.on_end)
        jail.attach(Handles(link=link, output=output, pidfd=pidfd, pid=pid, group=group))
        if group is not None:
            try:
                # In a thread: moving a process makes the kernel wait for all CPUs now and then, ten milliseconds long.
                await self._loop.run_in_executor(self._porter, group.admit, pid, _group_limits(jail.limits))
            except ProcessLookupError:
                raise SandboxError("the sandbox ended before it was admitted") from None
        link.send(b"+")

    def _values(self, template: Template, jail: Jail, workspace: Path | None) -> bytes:
        ordinary = workspace is None and self.isolation == "namespaces" and jail.limits is self.options.limits
        if ordinary and self._ordinary[0] is template:
            return self._ordinary[1]
        values = requested(jail.limits, base_data=template.base_data, level=self.isolation)
        if self.isolation == "landlock":
            jail.scratch = self._scratch_folder()
            place, tmp = str(workspace or jail.scratch / "workspace"), str(jail.scratch / "tmp")
            jail.watch = DiskWatch(Path(place), jail.limits, jail.processes)
            values |= {"workspace": place, "tmp": tmp, "env": {"HOME": place, "TMPDIR": tmp}}
        else:
            values["workspace"] = f"{WORKSPACES}/{workspace.name}" if workspace else f"{SCRATCH}/workspace"
        text = json.dumps(values).encode()
        if ordinary:
            self._ordinary = template, text
        return text

    def _scratch_folder(self) -> Path:
        """Without a mount namespace a run's private files lie on the host's disk, in a folder of its own."""
        folder = self.options.scratch / f"{os.getpid()}-{next(_numbers)}"
        for path in (folder, folder / "workspace", folder / "tmp"):
            path.mkdir(mode=0o700, parents=True)
            if os.geteuid() == 0:
                os.chown(path, self.options.uid, self.options.gid)
        return folder

    # -- ending jails ---------------------------------------------------------------------------------------------------

    def _bury(self, jail: Jail) -> None:
        """Kill it now; what it held comes back once the kernel says it is dead."""
        self._live.discard(jail)
        group = jail.release()

        def reclaim(_: object) -> None:
            if group is not None:
                self._groups.append(group)
            if jail.scratch is not None:
                shutil.rmtree(jail.scratch, ignore_errors=True)

        if jail.exited.done():
            reclaim(None)
        else:
            jail.exited.add_done_callback(reclaim)

    def _group(self) -> cgroups.Group | None:
        if self.cgroups.version == "none":
            return None
        return self._groups.pop() if self._groups else cgroups.Group(self.cgroups, f"run-{next(_numbers)}")

    # -- the template ---------------------------------------------------------------------------------------------------

    def _prepare_cgroups(self) -> None:
        if self.options.use_cgroups:
            self.cgroups = cgroups.prepare(f"gristmill-{os.getpid()}-{next(_numbers)}")
        if self.options.require_cgroups and self.cgroups.version == "none":
            raise SandboxUnavailable(
                f"cgroups are required by configuration but not to be had: {self.cgroups.reason}; run under a service "
                'manager that delegates them (systemd: `Delegate=yes`), or set sandbox.cgroups = "auto"'
            )

    async def _running_template(self) -> Template:
        if self._template is not None and self._template.alive:
            return self._template
        async with self._starting:
            if self._closed:
                raise SandboxUnavailable("the pool is closed")
            if self._template is None or not self._template.alive:
                if self._template is not None:
                    await self._template.close()
                template, self._launched = self._launched or Template.launch(self._order()), None
                await template.ready()
                self._template = template
                self._base_bytes = self._template.base_bytes
        return self._template

    def _order(self) -> TemplateOrder:
        options = self.options
        spec = jail_spec(options, self.isolation)
        if self.isolation == "landlock" and spec.as_root and (closed := layout.closed_to_others(spec.layout)):
            raise SandboxUnavailable(
                f"at the landlock level code runs as user {options.uid}, who cannot read {closed}: use a Python and a Gristmill "
                "that every user can read (not below a closed home folder), or run as an ordinary user"
            )
        return TemplateOrder(
            level=self.isolation, plan=plan(spec), preload=options.preload, site=spec.layout.site,
            workspace="/workspace" if self.isolation == "namespaces" else "", cgroups=self.cgroups.unique(),
        )  # fmt: skip

    # -- refilling ------------------------------------------------------------------------------------------------------

    def _replace(self, jail: Jail) -> None:
        self._used -= 1
        self._modules = jail.modules
        self._bury(jail)
        self._refill()

    def _mourn(self, jail: Jail) -> None:
        """One that died while it waited is replaced, whoever killed it."""
        if jail in self._warm and not self._closed:
            self._warm.remove(jail)
            self._bury(jail)
            self._refill()

    def _refill(self) -> None:
        while not self._closed and len(self._warm) + self._filling < self.options.warm:
            self._filling += 1
            self._begin(self._fill_one())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fill_later(self) -> None:
        """The first caller may be waiting already: it has the first child, and the others must not compete with it."""
        await asyncio.sleep(FIRST_CALL_SECONDS)
        self._refill()

    async def _fill_one(self) -> None:
        try:
            jail = await self._spawn(self.options.limits)
        except (SandboxError, TimeoutError, OSError) as error:
            self.problem = str(error)
            self._loop.call_later(AGAIN_SECONDS, self._refill)
            return  # the next lease will try again, too, and tell its caller why
        finally:
            self._filling -= 1
        self.problem = None
        self._warm.append(jail)
        jail.exited.add_done_callback(lambda _: self._mourn(jail))
        if not self._filling and not any(jail.busy for jail in self._live):
            for jail in itertools.islice(self._warm, PRIMED):
                jail.prime(self._modules)


def _clear_scratch(folder: Path) -> None:
    """Remove what a host that was killed has left behind; folders are named for the process that made them."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        owner = entry.name.partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(entry, ignore_errors=True)


def _group_limits(limits: Limits) -> cgroups.GroupLimits:
    return cgroups.GroupLimits(limits.memory_mb << 20, limits.processes + 1, limits.cpu_percent)


def jail_spec(options: PoolOptions, level: Isolation) -> JailSpec:
    """What the plan of this pool depends on."""
    return JailSpec(
        level=level,
        layout=(layout.inside if level == "namespaces" else layout.outside)(options.site, options.catalog),
        as_root=os.geteuid() == 0,
        uid=options.uid,
        gid=options.gid,
        workspaces=str(options.workspaces) if options.workspaces else None,
    )
