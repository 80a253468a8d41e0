"""The warden ends what we started when we are gone, even after SIGKILL. It is a tiny shell that holds a pipe to us.

It lives in its own session, is told of each process group, and kills those that are left when the pipe closes. A signal
on the parent's death would reach only direct children; `npx` and `uvx` start the real server as a grandchild.
"""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio
from anyio.abc import Process

_SCRIPT = """
groups=' '
while read -r verb group; do
  case $verb in
    guard) groups="$groups$group " ;;
    release) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
"""


class Warden:
    """Knows which process groups must not outlive us. Started with the first one."""

    def __init__(self) -> None:
        self._process: Process | None = None
        # Two servers that start at once must not start two wardens, nor interleave their lines.
        self._lock = anyio.Lock()

    async def guard(self, group: int) -> None:
        """End ``group`` when we end."""
        await self._tell(f"guard {group}\n")

    async def release(self, group: int) -> None:
        """``group`` is gone already."""
        await self._tell(f"release {group}\n")

    async def _tell(self, line: str) -> None:
        async with self._lock:
            if self._process is None:
                self._process = await start_whole(["/bin/sh", "-c", _SCRIPT], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env={})
            assert self._process.stdin
            await self._process.stdin.send(line.encode())

    async def aclose(self) -> None:
        """Let the warden do its last round and end."""
        if self._process is None:
            return
        assert self._process.stdin
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await self._process.stdin.aclose()
            await self._process.wait()


async def start_whole(command: Sequence[str], **options: Any) -> Process:
    """Start a process in a session of its own, whole or not at all.

    Called off half-way, it would leave pipes and a process that nobody waits for.
    """
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(command, start_new_session=True, **options)
    raise AssertionError("nothing cancels a shield")


@asynccontextmanager
async def open_warden() -> AsyncGenerator[Warden]:
    """A warden that ends with the block."""
    warden = Warden()
    try:
        yield warden
    finally:
        await warden.aclose()


def pid_handle(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, whoever else holds its pipes."""
    return os.pidfd_open(pid)
