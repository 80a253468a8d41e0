"""Answers requests to the chat: whole or as a stream; a client that leaves ends its turn, or not, as the configuration says."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response

from gristmill.chat.chat_events import ChatAnswer, ChatEvent
from gristmill.errors import Busy
from gristmill.runs.kept_events import HEARTBEAT_SECONDS
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import ListenerCheck
from gristmill.serve.http.routes.event_stream import EventStream
from gristmill.serve.http.routes.routes_executions import MOST_STREAMS

T = TypeVar("T")
Events = AsyncGenerator[ChatEvent]
Encode = Callable[[ChatEvent], bytes | None]


def wants_stream(request: Request, asked: bool) -> bool:
    """Returns whether the client asks for server-sent events, in the body or by the header."""
    return asked or "text/event-stream" in request.headers.get("accept", "")


def refuse_many_streams(door: HttpDoor, who: Principal) -> None:
    """Refuses a further stream of a tenant that has too many.

    Raises:
        Busy: the tenant has too many open streams.
    """
    if door.streams[who.tenant] >= MOST_STREAMS:
        text = f"{MOST_STREAMS} of your streams are open: close one first"
        raise Busy(text, limit="streams", value=MOST_STREAMS, retry_after=5.0)


async def answer_whole(request: Request, work: Coroutine[Any, Any, ChatAnswer]) -> Response:
    """Answers with the whole answer."""
    answer = await wait_while_connected(request, work)
    return Response(msgspec.json.encode(answer), media_type="application/json")


def answer_stream(door: HttpDoor, who: Principal, request: Request, events: Events, encode: Encode | None = None) -> EventStream:
    """Answers with the events, each as its client expects it."""
    return EventStream(_stream(door, who, events, ListenerCheck(door, request), encode or encode_event))


def encode_event(event: ChatEvent) -> bytes:
    """Returns an event of ours as a server-sent event."""
    body = msgspec.json.encode(event)
    return b"event: %s\ndata: %s\n\n" % (str(event.__struct_config__.tag).encode(), body)


async def _stream(
    door: HttpDoor, who: Principal, events: Events, is_known: Callable[[], Awaitable[bool]], encode: Encode
) -> AsyncGenerator[bytes]:  # fmt: skip
    door.streams[who.tenant] += 1
    try:
        async with aclosing(events):
            async for event in _beat_between(events):
                if not await is_known():
                    return
                if event is None:
                    yield b": alive\n\n"
                elif (text := encode(event)) is not None:
                    yield text
    finally:
        door.streams[who.tenant] -= 1


async def _beat_between(events: Events) -> AsyncGenerator[ChatEvent | None]:
    """Yields the events, and None whenever there was none for a while."""
    following: asyncio.Task[ChatEvent | None] | None = None
    try:
        while True:
            following = following or asyncio.create_task(_take_next(events))
            done, _ = await asyncio.wait({following}, timeout=HEARTBEAT_SECONDS)
            if not done:
                yield None
                continue
            event, following = following.result(), None
            if event is None:
                return
            yield event
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _take_next(events: Events) -> ChatEvent | None:
    return await anext(events, None)


async def wait_while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Waits for ``work``; it is cancelled when the client disconnects."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
        return await task
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
