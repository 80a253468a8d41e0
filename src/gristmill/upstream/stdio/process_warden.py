"""A warden process that kills the server processes when we are gone, even after SIGKILL. It is a small shell that reads a pipe.

The shell runs in its own session, is told of each process group, and kills the remaining groups when the pipe closes. A signal
on the parent's death would reach direct children only; `npx` and `uvx` start the real server as a grandchild.
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


class ProcessWarden:
    """Tracks the process groups that must not outlive us. The warden process starts with the first group."""

    def __init__(self) -> None:
        self._process: Process | None = None
        # Two servers that start at the same time must not start two wardens, nor interleave their lines.
        self._lock = anyio.Lock()

    async def guard(self, group: int) -> None:
        """Adds ``group`` to the process groups that are killed when we end."""
        await self._send_line(f"guard {group}\n")

    async def release(self, group: int) -> None:
        """Removes ``group``, which has ended already."""
        await self._send_line(f"release {group}\n")

    async def _send_line(self, line: str) -> None:
        async with self._lock:
            if self._process is None:
                self._process = await start_shielded_process(
                    ["/bin/sh", "-c", _SCRIPT], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env={}
                )
            assert self._process.stdin
            await self._process.stdin.send(line.encode())

    async def aclose(self) -> None:
        """Closes the pipe, so that the warden kills the remaining groups, and waits for it to end."""
        if self._process is None:
            return
        assert self._process.stdin
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await self._process.stdin.aclose()
            await self._process.wait()


async def start_shielded_process(command: Sequence[str], **options: Any) -> Process:
    """Starts a process in a session of its own, shielded from cancellation.

    A start that is cancelled half-way would leave open pipes and a process that is never waited for.
    """
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(command, start_new_session=True, **options)
    raise AssertionError("nothing cancels a shield")


@asynccontextmanager
async def open_warden() -> AsyncGenerator[ProcessWarden]:
    """Yields a warden and closes it after the block."""
    warden = ProcessWarden()
    try:
        yield warden
    finally:
        await warden.aclose()


def open_pid_handle(pid: int) -> int:
    """Returns a descriptor that becomes readable when the process ends, even if other processes hold its pipes."""
    return os.pidfd_open(pid)
