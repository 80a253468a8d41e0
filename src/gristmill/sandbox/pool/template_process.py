"""The host's handle on a template process: start it through its launcher, ask it for children, hear of their ends."""

import asyncio
import base64
import json
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from typing import Any

import msgspec

from gristmill.errors import SandboxCrashed, SandboxUnavailable
from gristmill.model import Isolation
from gristmill.sandbox.jail_plan import Plan, Step
from gristmill.sandbox.linux.seccomp import syscall_filters as filters
from gristmill.sandbox.pool.keeper_process import Keeper
from gristmill.values import dataclass

START_SECONDS, STOP_SECONDS = 60.0, 5.0
MESSAGE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateOrder:
    """What a template is made of."""

    level: Isolation
    plan: Plan
    preload: tuple[str, ...]
    site: str | None
    workspace: str
    cgroups: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a child ended, as its parent saw it: negative is a signal."""

    status: int
    cpu_seconds: float
    rss_bytes: int


@dataclass(slots=True)
class _Child:
    spawned: asyncio.Future[int]
    on_exit: Callable[[Exit], None]


class Template:
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
        self._loop.add_reader(control.fileno(), self._readable)

    @classmethod
    def launch(cls, order: TemplateOrder, keeper: Keeper | None = None) -> "Template":
        """Order it from ``keeper``, or from a new one; it gets ready by itself, on another core if there is one."""
        ours, process = (keeper or Keeper()).take()
        template = cls(ours, process)
        try:
            template._order(order)
        except OSError:
            template._gone("the sandbox's keeper ended")
        return template

    def _order(self, order: TemplateOrder) -> None:
        ours = self._control
        ours.send(json.dumps({"steps": _steps(order.plan.template), "cgroups": order.cgroups}).encode())
        ours.send(json.dumps(_template_order(order)).encode())

    async def ready(self) -> None:
        """Wait until it can fork.

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

    async def spawn(self, values: bytes, fds: Sequence[int], on_exit: Callable[[Exit], None], *, keep: bool) -> int:
        """Fork a child around ``fds`` (channel, output); returns its pidfd. The child waits for admission.

        ``values`` is what the plan leaves open, as JSON: the template knows text it has seen before.

        Raises:
            SandboxUnavailable: the template is gone.
        """
        self._next += 1
        child = _Child(self._loop.create_future(), on_exit)
        self._children[self._next] = child
        await self._send(b"%d %d\n%b" % (self._next, keep, values), fds)
        return await child.spawned

    async def close(self) -> None:
        """Hang up; the template and all its children end, and we see to it."""
        self._gone("closed")
        self._ready.exception()  # heard of here, if nobody waited for it
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
                await asyncio.sleep(0.001)  # its inbox is full; it is forking as fast as it can
            except OSError:
                # Dead, though the loop has not told us yet: whoever tries again must get another one.
                self._gone("the sandbox template ended")
            else:
                return
        raise SandboxUnavailable("the sandbox template has ended")

    def _readable(self) -> None:
        while self.alive:
            try:
                message, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 1)
            except BlockingIOError:
                return
            except ConnectionResetError:
                continue  # it ended with something of ours unread; its own last words are still to be had
            except OSError:
                message, fds = b"", []
            if not message:
                self._gone("the sandbox template ended")
                return
            self._take(msgspec.json.decode(message), fds)

    def _take(self, message: dict[str, Any], fds: list[int]) -> None:
        match message:
            case {"spawned": number}:
                child = self._children.get(number)
                if child and not child.spawned.done():
                    child.spawned.set_result(fds[0])
                else:
                    os.close(fds[0])
            case {"exited": number, "status": status, "cpu": cpu, "rss": rss}:
                if child := self._children.pop(number, None):
                    child.on_exit(Exit(status=status, cpu_seconds=cpu, rss_bytes=rss << 10))
            case {"refused": number, "reason": reason}:
                if (child := self._children.pop(number, None)) and not child.spawned.done():
                    child.spawned.set_exception(SandboxCrashed(f"the template cannot fork a child: {reason}"))
            case {"ready": True} if not self._ready.done():
                self._ready.set_result(message)
            case {"failed": reason} if not self._ready.done():
                self._ready.set_exception(SandboxUnavailable(str(reason)))
            case _:
                pass

    def _gone(self, reason: str) -> None:
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        if not self._ready.done():
            self._ready.set_exception(SandboxUnavailable(f"{reason} before it was ready"))
            self._ready.exception()  # whoever started it may have given up already
        for child in self._children.values():
            if not child.spawned.done():
                child.spawned.set_exception(SandboxUnavailable(reason))
                child.spawned.exception()
            child.on_exit(Exit(status=-9, cpu_seconds=0.0, rss_bytes=0))
        self._children.clear()


def _steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [{"do": step.do, **step.with_} for step in steps]


def _template_order(order: TemplateOrder) -> dict[str, Any]:
    programs = {"seal": filters.seal_filter(), "code": filters.code_filter(order.level), "template": filters.template_filter()}
    return {
        "level": order.level,
        "child": _steps(order.plan.child),
        "filters": {name: base64.b64encode(program).decode() for name, program in programs.items()},
        "preload": order.preload,
        "site": order.site,
        "workspace": order.workspace,
    }


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan for machines."""
    return {name: [asdict(step) for step in steps] for name, steps in (("template", plan.template), ("child", plan.child))}
