"""``/events``: what runs now, told whenever that changes."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from gristmill.errors import Busy
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import SEE, StillKnown
from gristmill.serve.http.routes.routes_executions import EVENTS, STREAMS
from gristmill.serve.http.runs import BEAT_SECONDS, Run

SHORTEST_SECONDS = 0.2
"""Between two events of a stream: what changes meanwhile is told together."""
MOST = 200
"""Executions that one event names, the newest."""
CALLS = 5
"""Open calls of each that it names, the oldest."""


def add_events(routes: APIRouter, door: Door) -> None:
    """The route of the stream."""

    @routes.get("/events", tags=["executions"], response_class=StreamingResponse, responses=EVENTS)
    async def events(request: Request, who: Annotated[Principal, SEE]) -> StreamingResponse:
        """What runs now, with its last line of output and its open calls, at once and whenever that changes.

        Yours; your tenant's with the scope `read`.
        """
        if door.streams[who.tenant] >= STREAMS:
            raise Busy(f"{STREAMS} streams of yours are open", limit="streams", value=STREAMS, retry_after=5.0)
        return StreamingResponse(_lines(door, who, StillKnown(door, request)), media_type="text/event-stream")


async def _lines(door: Door, who: Principal, is_known: StillKnown) -> AsyncGenerator[bytes]:
    door.streams[who.tenant] += 1
    door.runs.watching += 1
    told: bytes | None = None
    try:
        while not door.draining and await is_known():
            changed = door.runs.changed
            now = _told(door, who)
            # What changed may be another's: then there is nothing to tell.
            yield b": quiet\n\n" if now == told else b"event: running\ndata: %s\n\n" % now
            told = now
            await asyncio.sleep(SHORTEST_SECONDS)
            try:
                await asyncio.wait_for(changed.wait(), BEAT_SECONDS)
            except TimeoutError:
                pass
    finally:
        door.runs.watching -= 1
        door.streams[who.tenant] -= 1


def _told(door: Door, who: Principal) -> bytes:
    running = door.runs.running(who)
    rows, last = [_row(run) for run in running[:MOST]], door.runs.last_ended(who)
    return msgspec.json.encode({"type": "running", "running": rows, "total": len(running), "last_ended": last})


def _row(run: Run) -> dict[str, object]:
    calls = list(run.open_calls.values())
    return {
        "id": run.id, "session": run.session, "caller": run.caller, "time": run.began, "line": run.line,
        "open_calls": calls[:CALLS], "open_calls_total": len(calls),
    }  # fmt: skip
