"""Serves MCP over standard input and output: one message per line, nothing else on stdout, and a limit for every line.

The two streams are moved to private descriptors first: what a library prints goes to stderr, and code that reads stdin finds it
empty. No threads are used: a message costs one wake-up of the event loop.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]

LINE_BYTES = 8_000_000
"""Longest message: code of 1 MB and its context fit several times."""
_CHUNK = 65_536


@asynccontextmanager
async def open_stdio_streams() -> AsyncGenerator[tuple[Reading, Writing]]:
    """Opens the two streams that a server runs on."""
    source, sink = _move_descriptor(0, os.O_RDONLY, os.devnull), _move_descriptor(1, os.O_WRONLY, None)
    reader = await _open_reader(source)
    writer = await _open_writer(sink)
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_messages, reader, incoming, write_stream.clone())
        tasks.start_soon(_write_messages, outgoing, writer)
        yield read_stream, write_stream
        tasks.cancel_scope.cancel()


def _move_descriptor(descriptor: int, flags: int, instead: str | None) -> int:
    """Moves ``descriptor`` to a private number and puts ``instead`` (or stderr) in its place; returns the private number."""
    private = os.dup(descriptor)  # not inherited by servers and jails that are started later
    replacement = os.open(instead, flags) if instead else os.dup(2)
    os.dup2(replacement, descriptor)
    os.close(replacement)
    return private


def _is_null_device(descriptor: int) -> bool:
    """Whether the descriptor is the file that was put in place of stdin: an empty device, which an event loop cannot watch."""
    return os.path.sameopenfile(descriptor, 0)


async def _open_reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_CHUNK)
    file = os.fdopen(descriptor, "rb", buffering=0)
    if _is_null_device(descriptor):
        reader.feed_eof()
        return reader
    try:
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    except ValueError:  # a regular file: all of it can be read now
        reader.feed_data(file.read(LINE_BYTES) or b"")
        reader.feed_eof()
    return reader


async def _open_writer(descriptor: int) -> asyncio.StreamWriter | int:
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(descriptor, "wb", buffering=0, closefd=False)
        )
    except ValueError:  # a regular file: writing to it never waits
        return descriptor
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _read_messages(
    reader: asyncio.StreamReader, incoming: MemoryObjectSendStream[SessionMessage | Exception], answers: Writing
) -> None:
    """Reads lines as messages; a line that is not a message is answered with an error, as the protocol requires, and dropped."""
    held = bytearray()
    too_long = False
    async with incoming, answers:
        while chunk := await reader.read(_CHUNK):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                whole = bytes(held) + line if held else line
                held.clear()
                if too_long or len(whole) > LINE_BYTES:
                    too_long = False
                    await _send_error(answers, INVALID_REQUEST, f"a message may have at most {LINE_BYTES:,} bytes")
                elif whole.strip():
                    await _deliver_message(whole, incoming, answers)
            if too_long or len(held) + len(rest) > LINE_BYTES:
                too_long = True
                held.clear()  # the rest of the line is read and dropped
            else:
                held += rest


async def _deliver_message(line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception], answers: Writing) -> None:
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        await _send_error(answers, PARSE_ERROR, "this is not a JSON-RPC message")
        return
    await incoming.send(SessionMessage(message))


async def _send_error(answers: Writing, code: int, text: str) -> None:
    await answers.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=text))))


async def _write_messages(outgoing: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter | int) -> None:
    async with outgoing:
        async for message in outgoing:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                if isinstance(writer, int):
                    os.write(writer, line)
                else:
                    writer.write(line)
                    await writer.drain()
            except OSError:
                print("the client has disconnected", file=sys.stderr)
                return
