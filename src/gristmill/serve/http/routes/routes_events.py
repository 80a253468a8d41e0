"""The route ``/events``: a stream of what runs now, with a new event whenever that changes."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request

from gristmill.errors import Busy
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.kept_events import HEARTBEAT_SECONDS
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE_OR_READ, ListenerCheck
from gristmill.serve.http.routes.event_stream import EventStream, describe_stream
from gristmill.serve.http.routes.routes_executions import MOST_STREAMS
from gristmill.serve.http.run_viewer import build_viewer
from gristmill.serve.http.shapes.passed_shapes import RunningEvent

EVENT_PAUSE_SECONDS = 0.2
"""Shortest time between two events of a stream; changes in between are sent together."""
MOST_EXECUTIONS = 200
"""How many executions one event names, the newest."""
MOST_OPEN_CALLS = 5
"""How many open calls of each execution an event names, the oldest."""


def add_events(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the route of the stream."""

    @routes.get("/events", tags=["executions"], response_class=EventStream, responses=describe_stream(RunningEvent))
    async def events(request: Request, who: Annotated[Principal, EXECUTE_OR_READ]) -> EventStream:
        """Streams the running executions with their last line of output and open calls: now, and whenever that changes.

        Shows your own executions, or all of your tenant with the scope `read`.
        """
        if door.streams[who.tenant] >= MOST_STREAMS:
            raise Busy(
                f"{MOST_STREAMS} of your streams are open: close one first", limit="streams", value=MOST_STREAMS, retry_after=5.0
            )
        return EventStream(_stream_running(door, who, ListenerCheck(door, request)))


async def _stream_running(door: HttpDoor, who: Principal, is_known: ListenerCheck) -> AsyncGenerator[bytes]:
    door.streams[who.tenant] += 1
    door.runs.watching += 1
    sent: bytes | None = None
    try:
        while not door.draining and await is_known():
            changed = door.runs.changed
            now = encode_running(door, who)
            # The change may concern another caller: then only a sign of life is sent.
            yield b": quiet\n\n" if now == sent else b"event: running\ndata: %s\n\n" % now
            sent = now
            await asyncio.sleep(EVENT_PAUSE_SECONDS)
            try:
                await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                pass
    finally:
        door.runs.watching -= 1
        door.streams[who.tenant] -= 1


def encode_running(door: HttpDoor, who: Principal) -> bytes:
    """Encodes the event that names the running executions of ``who``."""
    viewer = build_viewer(who)
    running = door.runs.list_running(viewer)
    rows, last = [_describe_run(run) for run in running[:MOST_EXECUTIONS]], door.runs.find_last_end(viewer)
    return msgspec.json.encode({"type": "running", "running": rows, "total": len(running), "last_ended": last})


def _describe_run(run: ActiveRun) -> dict[str, object]:
    calls = list(run.open_calls.values())
    return {
        "id": run.id, "session": run.session, "caller": run.identity.caller, "time": run.began, "line": run.last_line,
        "open_calls": calls[:MOST_OPEN_CALLS], "open_calls_total": len(calls),
    }  # fmt: skip
