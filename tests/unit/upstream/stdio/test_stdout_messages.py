"""What the reader of a program's standard output makes of lines that it does not pass on. The chunks are the test's own."""

import anyio
import pytest
from anyio.abc import ByteReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.stdio.stdout_messages import StdoutReader, WaitingRequests

pytestmark = pytest.mark.anyio

ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{}}\n'
NOTICE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}\n'
MANY_VALUES = NOTICE % (b"[" + b",".join([b"{}"] * 800_000) + b"]")
LONG_TEXT = NOTICE % (b'"' + b"x" * 3_000_000 + b'"')


class Chunks(ByteReceiveStream):
    """Delivers chunks as they are: each one is all that the pipe holds at that moment."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        if not self._chunks:
            raise anyio.EndOfStream
        return self._chunks.pop(0)

    async def aclose(self) -> None: ...


async def read(*chunks: bytes, cap: int = 32_000_000, stray: list[bytes] | None = None) -> list[object]:
    """Returns the messages that are passed on while request 7 waits."""
    waiting = WaitingRequests()
    waiting.note_sent(JSONRPCRequest(jsonrpc="2.0", id=7, method="tools/call"))
    inbound, received = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    noted = [] if stray is None else stray
    reader = StdoutReader(cap=cap, limits=JsonLimits(), waiting=waiting, note_stray_line=noted.append)
    with inbound, received:
        with pytest.raises(anyio.EndOfStream):
            await reader.forward_messages(Chunks(*chunks), inbound)
        count = received.statistics().current_buffer_used
        items = [received.receive_nowait() for _ in range(count)]
        return [item.message for item in items if isinstance(item, SessionMessage)]


@pytest.mark.requirement("T150", "T153")
@pytest.mark.parametrize("notice", [MANY_VALUES, LONG_TEXT], ids=["many values", "long text"])
@pytest.mark.parametrize("cap", [32_000_000, 1_000_000])
async def test_a_notification_that_is_dropped_ends_no_connection_wherever_the_pipe_is_cut(notice: bytes, cap: int) -> None:
    stray: list[bytes] = []
    found = await read(notice, notice, ANSWER, cap=cap, stray=stray)
    assert [type(message) for message in found] == [JSONRPCResponse]
    assert stray == []


@pytest.mark.requirement("T151")
async def test_an_answer_past_the_cap_whose_id_is_not_found_fails_what_waits() -> None:
    hidden = b'{"jsonrpc":"2.0","result":{"text":"' + b"x" * 2_000_000 + b'"},"id":7,"more":"' + b"y" * 1_000 + b'"}\n'
    found = await read(hidden, cap=1_000_000)
    assert [message.id for message in found if isinstance(message, JSONRPCError)] == [7]
