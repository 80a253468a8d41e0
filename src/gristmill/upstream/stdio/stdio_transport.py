"""Runs a server as a child process: its own session, a minimal environment, capped output, and a guaranteed end."""

import os
import shutil
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage

from gristmill.errors import UpstreamUnavailable
from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.stdio.process_warden import ProcessWarden, open_pid_handle, start_shielded_process
from gristmill.upstream.stdio.server_output import ServerOutput
from gristmill.upstream.stdio.stdout_messages import Inbound, StdoutReader, WaitingRequests

INHERITED_VARIABLES = ("PATH", "HOME", "LANG")
"""The variables of our environment that every server gets: enough to be found, to keep its caches and to write UTF-8."""

_NOTHING: Mapping[str, str] = {}
_GRACE_SECONDS = 2.0
_STREAM_ENDED = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Outbound = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """The program to start. Its secrets are resolved, so it is never printed."""

    command: str = field(repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    cap: int = 32_000_000
    limits: JsonLimits = field(default_factory=JsonLimits)


def make_minimal_environment(
    environ: Mapping[str, str], given: Mapping[str, str], passed: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Returns the environment of a server: three inherited variables, the ``passed`` ones, and those that its section sets."""
    inherited = {name: environ[name] for name in INHERITED_VARIABLES if name in environ}
    return {"LANG": "C.UTF-8"} | inherited | dict(passed) | dict(given)


@asynccontextmanager
async def open_stdio_transport(program: ServerProgram, *, warden: ProcessWarden, output: ServerOutput) -> AsyncGenerator[Any]:
    """Starts the program and yields the SDK's pair of streams; after the block the whole process group is killed.

    Raises:
        UpstreamUnavailable: the program cannot be started.
    """
    process = await _start_program(program)
    # A short queue: each message in it may be as large as the cap.
    inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    write, outbound = anyio.create_memory_object_stream[SessionMessage](8)
    ended = anyio.Event()
    waiting, note_stray = WaitingRequests(), output.add_stray_line
    reader = StdoutReader(cap=program.cap, limits=program.limits, waiting=waiting, note_stray_line=note_stray)
    try:
        await warden.guard(process.pid)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_stdout, process, reader, inbound, ended)
            tasks.start_soon(_write_stdin, process, reader.waiting, outbound, inbound)
            tasks.start_soon(_read_stderr, process, output)
            tasks.start_soon(_close_after_exit, process, inbound, ended)
            try:
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop_process(process)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            _kill_group(process.pid)
            await _wait_for_reaping(process)
            await warden.release(process.pid)
            for stream in (inbound, read, write, outbound):
                stream.close()
            _close_transport(process)


def find_program(program: ServerProgram) -> str:
    """Returns the path of the program.

    Raises:
        UpstreamUnavailable: it is not installed.
    """
    found = shutil.which(program.command, path=program.env.get("PATH"))
    if found is None:
        raise UpstreamUnavailable(f"the command {Path(program.command).name!r} is not installed or not on PATH")
    return found


async def _start_program(program: ServerProgram) -> Process:
    found = find_program(program)
    if program.cwd is not None and not program.cwd.is_dir():
        raise UpstreamUnavailable(f"the working directory {program.cwd} does not exist")
    return await start_shielded_process(
        [found, *program.args], env=dict(program.env), cwd=program.cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


async def _read_stdout(process: Process, reader: StdoutReader, inbound: Inbound, ended: anyio.Event) -> None:
    assert process.stdout
    with suppress(*_STREAM_ENDED):
        await reader.forward_messages(process.stdout, inbound)
    inbound.close()
    ended.set()
    # A server that is blocked on writing cannot notice that its input is closed: keep reading until it ends.
    with suppress(*_STREAM_ENDED):
        while True:
            await process.stdout.receive()


async def _write_stdin(process: Process, waiting: WaitingRequests, outbound: Outbound, inbound: Inbound) -> None:
    assert process.stdin
    try:
        async for item in outbound:
            waiting.note_sent(item.message)
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        inbound.close()  # requests cannot be sent any more, so no answers will come: end every waiting call


async def _read_stderr(process: Process, output: ServerOutput) -> None:
    assert process.stderr
    with suppress(*_STREAM_ENDED):
        while True:
            chunk = await process.stderr.receive()
            output.add(chunk)
            await output.log(chunk)


async def _close_after_exit(process: Process, inbound: Inbound, ended: anyio.Event) -> None:
    # A grandchild may hold the pipes open for ever, so the end of the process itself counts as the end of the server.
    await _wait_for_exit(process)
    with anyio.move_on_after(_GRACE_SECONDS / 2):  # its last output is still in the pipe
        await ended.wait()
    inbound.close()


async def _wait_for_exit(process: Process) -> None:
    if process.returncode is not None:
        return
    try:
        handle = open_pid_handle(process.pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def _wait_for_reaping(process: Process) -> None:
    # Closing the transport before asyncio has collected the exit status would make it warn about an unknown child.
    with anyio.move_on_after(_GRACE_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110  # set by a watcher that sends no signal
            await anyio.sleep(0.005)


async def _stop_process(process: Process) -> None:
    assert process.stdin
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    for signal_number in (None, signal.SIGTERM, signal.SIGKILL):
        if signal_number is not None:
            _kill_group(process.pid, signal_number)
        with anyio.move_on_after(_GRACE_SECONDS):
            await _wait_for_exit(process)
            return


def _kill_group(group: int, signal_number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal_number)


def _close_transport(process: Process) -> None:
    # A grandchild that left the group can hold a pipe; without this asyncio warns about the transport at exit.
    inner = getattr(process, "_process", None)
    transport = getattr(inner, "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()
