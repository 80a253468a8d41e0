"""The host's handle on a template process: starts it through the keeper, orders children from it, and receives their exits."""

import asyncio
import base64
import json
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from gristmill.errors import SandboxCrashed, SandboxUnavailable
from gristmill.model import Isolation
from gristmill.sandbox.guest_programs import GuestProgram
from gristmill.sandbox.jail_plan import JailPlan, JailStep
from gristmill.sandbox.jails.keeper_process import Keeper
from gristmill.sandbox.linux.seccomp import syscall_filters as filters
from gristmill.sandbox.run.verdict import ChildExit

START_SECONDS, STOP_SECONDS = 60.0, 5.0
MESSAGE_BYTES = 1 << 16


class TemplateOrder(Struct, frozen=True, kw_only=True):
    """The settings that a template is made with."""

    level: Isolation
    plan: JailPlan
    preload: tuple[str, ...]
    site: str | None
    workspace: str
    cgroups: list[str] = field(default_factory=list[str])
    program: GuestProgram | None = None


class _Child(Struct):
    spawned: asyncio.Future[int]
    on_exit: Callable[[ChildExit], None]


class TemplateProcess:
    """A running template. Bound to the event loop that started it."""

    def __init__(self, control: socket.socket, keeper: subprocess.Popen[bytes]) -> None:
        self._control = control
        self._keeper = keeper
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._children: dict[int, _Child] = {}
        self._next = 0
        self.alive = True
        self.base_data = 0
        self.base_bytes = 0
        self.missing: tuple[str, ...] = ()
        self._loop.add_reader(control.fileno(), self._read_messages)

    @classmethod
    def launch(cls, order: TemplateOrder, keeper: Keeper | None = None) -> "TemplateProcess":
        """Orders a template from ``keeper`` or a new one; it prepares itself meanwhile, on another core if there is one."""
        ours, process = (keeper or Keeper()).take_over()
        template = cls(ours, process)
        try:
            template._send_order(order)
        except OSError:
            template._mark_ended("the sandbox's keeper ended")
        return template

    def _send_order(self, order: TemplateOrder) -> None:
        ours = self._control
        ours.send(json.dumps({"steps": _convert_steps(order.plan.template), "cgroups": order.cgroups}).encode())
        ours.send(json.dumps(_convert_order(order)).encode())

    async def wait_until_ready(self) -> None:
        """Waits until the template can fork.

        Raises:
            SandboxUnavailable: a step of the plan failed; the message names it.
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await self._ready
        except TimeoutError:
            await self.close()
            raise SandboxUnavailable(f"the sandbox template was not ready within {START_SECONDS:.0f} s") from None
        except BaseException:
            await self.close()
            raise
        self.base_data, self.base_bytes = ready["base_data"], ready["base_bytes"]
        self.missing = tuple(ready["missing"])

    async def spawn(self, values: bytes, fds: Sequence[int], on_exit: Callable[[ChildExit], None], *, keep: bool) -> int:
        """Forks a child with ``fds`` (channel, output) and returns its pidfd. The child waits for admission.

        ``values`` is what the plan leaves open, as JSON: for a text that it has seen before, the template reuses the prepared
        calls.

        Raises:
            SandboxUnavailable: the template has ended.
        """
        self._next += 1
        child = _Child(self._loop.create_future(), on_exit)
        self._children[self._next] = child
        await self._send(b"%d %d\n%b" % (self._next, keep, values), fds)
        return await child.spawned

    async def close(self) -> None:
        """Closes the socket and waits until the template and all its children have ended, by force if needed."""
        self._mark_ended("closed")
        self._ready.exception()  # retrieved here in case no caller waited for it, so that asyncio does not warn
        try:
            await asyncio.to_thread(self._keeper.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            await asyncio.to_thread(self._keeper.wait)

    async def _send(self, order: bytes, fds: Sequence[int]) -> None:
        while self.alive:
            try:
                socket.send_fds(self._control, [order], list(fds))
            except BlockingIOError:
                await asyncio.sleep(0.001)  # its receive buffer is full; it is forking as fast as it can
            except OSError:
                # It has ended, though the event loop has not reported it yet: the next attempt must get another template.
                self._mark_ended("the sandbox template ended")
            else:
                return
        raise SandboxUnavailable("the sandbox template has ended")

    def _read_messages(self) -> None:
        while self.alive:
            try:
                message, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 1)
            except BlockingIOError:
                return
            except ConnectionResetError:
                continue  # it ended with an order unread; its own last messages can still be read
            except OSError:
                message, fds = b"", []
            if not message:
                self._mark_ended("the sandbox template ended")
                return
            self._handle_message(msgspec.json.decode(message), fds)

    def _handle_message(self, message: dict[str, Any], fds: list[int]) -> None:
        match message:
            case {"spawned": number}:
                self._note_spawned(self._children.get(number), fds)
            case {"exited": number, "status": status, "cpu": cpu, "rss": rss}:
                if child := self._children.pop(number, None):
                    child.on_exit(ChildExit(status=status, cpu_seconds=cpu, rss_bytes=rss << 10))
            case {"refused": number, "reason": reason}:
                if (child := self._children.pop(number, None)) and not child.spawned.done():
                    child.spawned.set_exception(SandboxCrashed(f"the template cannot fork a child: {reason}"))
            case {"ready": True} if not self._ready.done():
                self._ready.set_result(message)
            case {"failed": reason} if not self._ready.done():
                self._ready.set_exception(SandboxUnavailable(str(reason)))
            case _:
                pass

    def _note_spawned(self, child: _Child | None, fds: list[int]) -> None:
        if child is None or child.spawned.done():
            for fd in fds:
                os.close(fd)
        elif fds:
            child.spawned.set_result(fds[0])
        else:  # the kernel drops a descriptor for which this process has no room; the child ends with its channel
            reason = "no sandbox could be made: this process cannot open more files; raise its limit (ulimit -n)"
            child.spawned.set_exception(SandboxUnavailable(reason))

    def _mark_ended(self, reason: str) -> None:
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        if not self._ready.done():
            self._ready.set_exception(SandboxUnavailable(f"{reason} before it was ready"))
            self._ready.exception()  # retrieved here in case the caller has given up already
        for child in self._children.values():
            if not child.spawned.done():
                child.spawned.set_exception(SandboxUnavailable(reason))
                child.spawned.exception()
            child.on_exit(ChildExit(status=-9, cpu_seconds=0.0, rss_bytes=0))
        self._children.clear()


def _convert_steps(steps: Sequence[JailStep]) -> list[dict[str, Any]]:
    return [{"do": step.do, **step.with_} for step in steps]


def _convert_order(order: TemplateOrder) -> dict[str, Any]:
    programs = {
        "seal": filters.build_seal_filter(),
        "code": filters.build_code_filter(order.level),
        "template": filters.build_template_filter(),
    }
    if order.program is not None:
        programs["program"] = filters.build_program_filter(order.level, jit=order.program.jit)
    return {
        "level": order.level,
        "child": _convert_steps(order.plan.child),
        "filters": {name: base64.b64encode(program).decode() for name, program in programs.items()},
        "preload": order.preload,
        "site": order.site,
        "workspace": order.workspace,
    }


def convert_plan_to_json(plan: JailPlan) -> dict[str, Any]:
    """Converts the plan to JSON values, for other programs."""
    return {name: [asdict(step) for step in steps] for name, steps in (("template", plan.template), ("child", plan.child))}
