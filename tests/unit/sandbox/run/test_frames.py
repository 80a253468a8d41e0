"""Frames: strict in, exact out."""

import asyncio
import socket

import pytest

from gristmill.sandbox.run import frames as bridge


def unheard(_message: bridge.Message, _length: int) -> None:
    """Nobody listens."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'["ready","",7]', bridge.ReadyFrame("", 7)),
        (b'["begun","n"]', bridge.BegunFrame("n")),
        (b'["unfit","n","folder"]', bridge.UnfitFrame("n", "folder")),
        (b'["call","n",1,"crm.find",{"q":"x"},[]]', bridge.CallFrame("n", 1, "crm.find", {"q": "x"}, [])),
        (b'["abandon","n",1]', bridge.AbandonFrame("n", 1)),
        (b'["done","n",{"a":1},null,null,null]', bridge.DoneFrame("n", {"a": 1}, None, None, None)),
        (b'["failed","why"]', bridge.FailedFrame("why")),
    ],
)
def test_messages_are_read(body: bytes, expected: bridge.Message) -> None:
    assert bridge.decode_frame(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"{}", b"[]", b'["nope"]', b'["call"]', b'["call","n",1,"t",{},[],1]', b'["call","n","1","t",{},[]]', b'["call","n",1.5,"t",{},[]]',
        b'["call","n",1,"t",[],[]]', b'["call","n",1,"t",{"a":NaN},[]]', b'["call","n",1,"t",{"a":1e999},[]]', b'["done","n",1,2,null,null]', b'["ready","",7] x',
        b'["call","n",1,"\xff",{},[]]', b'["done","n",' + b"[" * 100_000 + b"]" * 100_000 + b",null,null,null]", b'{"0":"ready","1":"","2":7}',
        b'["call",1,"t",{},[]]', b'["call",null,1,"t",{},[]]', b'["ready",7]', b'["unfit","n","any text"]', b'["done",1,null,null,null]', b'["begun"]',
    ],
)  # fmt: skip
def test_everything_else_is_a_violation(body: bytes) -> None:
    with pytest.raises(bridge.ProtocolViolation):
        bridge.decode_frame(body)


def test_a_link_reads_frames_however_they_arrive_and_ends_on_a_length_past_its_limit() -> None:
    async def test() -> None:
        ours, theirs = socket.socketpair()
        seen: list[bridge.Message] = []
        ended: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        link = bridge.GuestLink(ours, lambda message, _: seen.append(message), ended.set_result)
        link.reader.frame_limit = 100
        for byte in bridge.encode_frame("ready", "", 1) + bridge.encode_frame("ready", "", 2):
            theirs.sendall(bytes([byte]))
            await asyncio.sleep(0)
        theirs.sendall(bridge.HEAD.pack(101))
        async with asyncio.timeout(5):
            assert "101 bytes" in (await ended or "")
        assert seen == [bridge.ReadyFrame("", 1), bridge.ReadyFrame("", 2)]
        theirs.close()

    asyncio.run(test())


def test_a_guest_that_does_not_read_its_answers_is_ended() -> None:
    async def test() -> None:
        ours, theirs = socket.socketpair()
        ended: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        link = bridge.GuestLink(ours, unheard, ended.set_result)
        frame = bridge.encode_frame("value", 1, "x" * 1000)
        for _ in range(bridge.QUEUE_FRAMES + 1_000):
            link.send(frame)
        async with asyncio.timeout(5):
            assert await ended == "the guest does not read its answers"
        theirs.close()

    asyncio.run(test())


def test_large_frames_leave_in_pieces() -> None:
    async def test() -> None:
        ours, theirs = socket.socketpair()
        link = bridge.GuestLink(ours, unheard, lambda _: None)
        frames = bridge.encode_frame("value", 1, "x" * 3_000_000) + bridge.encode_frame("value", 2, "y")
        link.send(frames[:3_000_020])
        link.send(frames[3_000_020:])

        def read_all() -> bytes:
            received = b""
            while len(received) < len(frames):
                received += theirs.recv(1 << 20)
            return received

        async with asyncio.timeout(5):
            assert await asyncio.to_thread(read_all) == frames
        link.close()
        theirs.close()

    asyncio.run(test())
