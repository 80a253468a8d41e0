"""``/ws``: executions and their events over one connection, for interactive use.

The client sends ``{"type": "execute", "ref": "1", "code": ...}`` with the fields of ``POST /execute`` and gets every event
with the same ``ref``, then the ``outcome``. ``{"type": "cancel", "execution": ID}`` ends one. A page, which cannot send
headers, begins with ``{"type": "hello", "token": ...}``.
"""

import asyncio
import json
from typing import Any, cast

import msgspec
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from gristmill.errors import Busy, Error, Refused, Unauthorized
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import ExecuteRequest
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import begin_request
from gristmill.serve.http.require_scopes import StillKnown
from gristmill.serve.http.runs import Run
from gristmill.serve.http.start_execution import begin
from gristmill.serve.problem_codes import problem

HELLO_SECONDS = 10.0
AT_ONCE = 16
"""Executions of one connection at the same time."""
POLICY, TRY_LATER = 1008, 1013


def add_socket(routes: APIRouter, door: Door) -> None:
    """The route of the socket."""

    @routes.websocket("/ws")
    async def ws(socket: WebSocket) -> None:
        """Interactive use."""
        try:
            door.wall.check(socket.headers, "GET", websocket=True)
        except Refused:
            await socket.close(POLICY)  # before it is accepted: the client sees 403
            return
        await socket.accept()
        begin_request()
        talk = _Talk(door, socket)
        try:
            talk.shown = await _introduce(door, socket)
            await talk.listen()
        except Error as error:
            await _send(socket, {"type": "problem", "problem": problem(error)})
            await socket.close(TRY_LATER if isinstance(error, Busy) else POLICY)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has left; what it began goes on and is on record
        finally:
            talk.close()


async def _introduce(door: Door, socket: WebSocket) -> HTTPConnection:
    """Whoever it is, as a connection that shows a token where one is needed: that can be verified again and again."""
    shown: HTTPConnection = socket
    if await door.authenticate(socket) is None:
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = _parsed(await _text(socket))
        except TimeoutError:
            raise Unauthorized("no token came") from None
        # As if it had come in the header: one way of verifying.
        token = str(hello.get("token", ""))
        header = (b"authorization", f"Bearer {token}".encode("latin-1", "replace"))
        shown = HTTPConnection({**socket.scope, "headers": [*socket.scope["headers"], header]})
    await _verified(door, shown)
    return shown


async def _verified(door: Door, shown: HTTPConnection) -> Principal:
    who = await door.authenticate(shown)
    if who is None:
        raise Unauthorized("send a token first")
    who.needs("execute")
    return who


class _Talk:
    def __init__(self, door: Door, socket: WebSocket) -> None:
        self._door, self._socket = door, socket
        self._tasks: set[asyncio.Task[None]] = set()
        self.shown: HTTPConnection = socket

    async def listen(self) -> None:
        """Answer messages until the client leaves."""
        while True:
            message = _parsed(await _text(self._socket))
            ref = message.pop("ref", None)
            try:
                # For every message: a token that was revoked meanwhile opens nothing.
                await self._take(await _verified(self._door, self.shown), message, ref)
            except Unauthorized:
                raise
            except Error as error:
                await _send(self._socket, {"type": "problem", "ref": ref, "problem": problem(error)})
            except ValidationError as error:
                wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
                await _send(self._socket, {"type": "problem", "ref": ref, "problem": {"code": "request", "message": wrong}})

    async def _take(self, who: Principal, message: dict[str, Any], ref: Any) -> None:
        kind = message.pop("type", None)
        self._door.rates.take(who.tenant)
        if kind == "cancel":
            run = self._door.runs.get(str(message.get("execution", "")), who)
            if run.caller == who.caller:
                run.cancel()
            return
        if kind == "hello":
            return
        if kind != "execute":
            raise Refused("a message has the type execute or cancel", rule="ws.type")
        if len(self._tasks) >= AT_ONCE:
            raise Busy(f"{AT_ONCE} executions are under way on this connection", limit="ws.at_once", value=AT_ONCE)
        asked = ExecuteRequest.model_validate({**message, "background": False})
        run, _ = await begin(self._door, who, asked, via="ws")
        task = asyncio.create_task(self._tell(run, ref))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, run: Run, ref: Any) -> None:
        try:
            await _send(self._socket, {"type": "started", "ref": ref, "execution": run.id})
            is_known = StillKnown(self._door, self.shown)
            async for heard in run.follow():
                if not await is_known():
                    await self._socket.close(POLICY)
                    return
                if heard is not None:
                    await _send(self._socket, {**msgspec.json.decode(heard.text), "ref": ref})
        except (WebSocketDisconnect, RuntimeError):
            pass  # nobody listens any more

    def close(self) -> None:
        """Stop telling; the executions themselves go on."""
        for task in self._tasks:
            task.cancel()


async def _text(socket: WebSocket) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    if message.get("text") is None:
        raise Refused("a message is text, not bytes", rule="ws.text")
    return message["text"]


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused("a message is a JSON object", rule="ws.json")
    return cast("dict[str, Any]", found)


async def _send(socket: WebSocket, message: dict[str, Any]) -> None:
    await socket.send_text(json.dumps(message))
