"""A server as a child process: its own session, a minimal environment, capped output, and an end that is certain."""

import logging
import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

from gristmill.errors import UpstreamUnavailable
from gristmill.upstream.line_splitter import Lines, TooLong
from gristmill.upstream.mcp.translate_errors import TOO_LARGE
from gristmill.upstream.stdio.process_warden import Warden, pid_handle, start_whole
from gristmill.values import dataclass

log = logging.getLogger(__name__)

INHERITED = ("PATH", "HOME", "LANG")
"""All that a server gets of our environment: enough to be found, to keep its caches and to write UTF-8."""

_GRACE = 2.0
_RUBBISH_CAP = 1_000_000
"""Bytes that are no messages, since the last message, before we give up on a server."""

_ENDLESS = 256_000_000
"""Bytes past the cap that we read in the hope of a line's end, so that only its own call fails."""

_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Inbound = MemoryObjectSendStream[SessionMessage | Exception]
Outbound = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. Its secrets are resolved, so it is never printed."""

    command: str = field(repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    cap: int = 32_000_000


class LastWords:
    """The end of what a server wrote to its standard error: the best explanation of a death."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque(maxlen=4)

    def forget(self) -> None:
        """A new process begins with nothing said."""
        self._chunks.clear()

    def add(self, chunk: bytes) -> None:
        """Remember ``chunk``, forget older ones."""
        self._chunks.append(chunk[-4_096:])

    def line(self) -> str:
        """The last line that says something, or nothing."""
        lines = b"".join(self._chunks).decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def minimal_environment(environ: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What a server sees: the three inherited names and what its configuration gives it."""
    inherited = {name: environ[name] for name in INHERITED if name in environ}
    return {"LANG": "C.UTF-8"} | inherited | dict(given)


@asynccontextmanager
async def stdio_transport(program: Program, *, warden: Warden, words: LastWords) -> AsyncGenerator[Any]:
    """Start the program and yield the SDK's pair of streams; on the way out the whole process group ends.

    Raises:
        UpstreamUnavailable: it cannot be started.
    """
    process = await _start(program)
    # Few places: each may hold an answer as large as the cap.
    inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    write, outbound = anyio.create_memory_object_stream[SessionMessage](8)
    ended = anyio.Event()
    try:
        await warden.guard(process.pid)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_stdout, process, inbound, program.cap, ended)
            tasks.start_soon(_write_stdin, process, outbound, inbound)
            tasks.start_soon(_read_stderr, process, words)
            tasks.start_soon(_watch, process, inbound, ended)
            try:
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            _kill_group(process.pid)
            await _reaped(process)
            await warden.release(process.pid)
            for stream in (inbound, read, write, outbound):
                stream.close()
            _close_transport(process)


def found_program(program: Program) -> str:
    """Where the program is.

    Raises:
        UpstreamUnavailable: nowhere.
    """
    found = shutil.which(program.command, path=program.env.get("PATH"))
    if found is None:
        raise UpstreamUnavailable(f"the command {Path(program.command).name!r} is not installed or not on PATH")
    return found


async def _start(program: Program) -> Process:
    found = found_program(program)
    if program.cwd is not None and not program.cwd.is_dir():
        raise UpstreamUnavailable(f"the working directory {program.cwd} does not exist")
    return await start_whole([found, *program.args], env=dict(program.env), cwd=program.cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE)


async def _read_stdout(process: Process, inbound: Inbound, cap: int, ended: anyio.Event) -> None:
    assert process.stdout
    with suppress(*_GONE):
        await _forward(process.stdout, inbound, cap)
    inbound.close()
    ended.set()
    # A server that is stuck writing cannot notice that its input is closed: read on until it ends.
    with suppress(*_GONE):
        while True:
            await process.stdout.receive()


async def _forward(stdout: ByteReceiveStream, inbound: Inbound, cap: int) -> None:
    lines, rubbish = Lines(cap), 0
    while rubbish <= _RUBBISH_CAP and lines.pending <= cap + _ENDLESS:
        for line in lines.feed(await stdout.receive()):
            message = _too_long(line, cap) if isinstance(line, TooLong) else _parse(line)
            if message:
                rubbish = 0
                await inbound.send(message)
            else:
                rubbish += line.size if isinstance(line, TooLong) else len(line)


def _parse(line: bytes) -> SessionMessage | None:
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        # Servers print banners and warnings to stdout; their content may be private, so only the size is logged.
        log.debug("skipped %d bytes on stdout that are no message", len(line))
        return None


def _too_long(line: TooLong, cap: int) -> SessionMessage | None:
    if line.id is None:
        return None
    error = ErrorData(code=TOO_LARGE, message=f"the answer of {line.size} bytes is larger than the cap of {cap}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=line.id, error=error))


async def _write_stdin(process: Process, outbound: Outbound, inbound: Inbound) -> None:
    assert process.stdin
    try:
        async for item in outbound:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        inbound.close()  # what cannot be asked will not answer: let every waiting call know


async def _read_stderr(process: Process, words: LastWords) -> None:
    assert process.stderr
    with suppress(*_GONE):
        while True:
            words.add(await process.stderr.receive())


async def _watch(process: Process, inbound: Inbound, ended: anyio.Event) -> None:
    # A grandchild may hold the pipes open for ever; the process itself decides whether the server lives.
    await _exited(process)
    with anyio.move_on_after(_GRACE / 2):  # what it wrote before it died is still in the pipe
        await ended.wait()
    inbound.close()


async def _exited(process: Process) -> None:
    if process.returncode is not None:
        return
    try:
        handle = pid_handle(process.pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def _reaped(process: Process) -> None:
    # Closing the transport before asyncio has collected the exit status would make it warn about an unknown child.
    with anyio.move_on_after(_GRACE):
        while process.returncode is None:  # noqa: ASYNC110  # set by a watcher that tells nobody
            await anyio.sleep(0.005)


async def _stop(process: Process) -> None:
    assert process.stdin
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    for signal_number in (None, signal.SIGTERM, signal.SIGKILL):
        if signal_number is not None:
            _kill_group(process.pid, signal_number)
        with anyio.move_on_after(_GRACE):
            await _exited(process)
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
