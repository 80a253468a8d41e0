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

from gristmill.errors import Busy, Error, Refused, Unauthorized
from gristmill.serve.auth import Principal
from gristmill.serve.http.door import Door
from gristmill.serve.http.executing import begin
from gristmill.serve.http.logs import begin_request
from gristmill.serve.http.runs import Run
from gristmill.serve.http.shapes import ExecuteRequest
from gristmill.serve.problems import problem

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
            talk.who = await _introduce(door, socket)
            await talk.listen()
        except Error as error:
            await _send(socket, {"type": "problem", "problem": problem(error)})
            await socket.close(TRY_LATER if isinstance(error, Busy) else POLICY)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has left; what it began goes on and is on record
        finally:
            talk.close()


async def _introduce(door: Door, socket: WebSocket) -> Principal:
    who = await door.authenticate(socket)
    if who is None:
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = _parsed(await socket.receive_text())
        except TimeoutError:
            raise Unauthorized("no token came") from None
        # As if it had come in the header: one way of verifying.
        token = str(hello.get("token", ""))
        scope = {
            **socket.scope,
            "headers": [*socket.scope["headers"], (b"authorization", f"Bearer {token}".encode("latin-1", "replace"))],
        }
        who = await door.authenticate(WebSocket(scope, socket.receive, socket.send))
    if who is None:
        raise Unauthorized("send a token first")
    who.needs("execute")
    return who


class _Talk:
    def __init__(self, door: Door, socket: WebSocket) -> None:
        self._door, self._socket = door, socket
        self._tasks: set[asyncio.Task[None]] = set()
        self.who: Principal | None = None

    async def listen(self) -> None:
        """Answer messages until the client leaves."""
        while True:
            message = _parsed(await self._socket.receive_text())
            ref = message.pop("ref", None)
            try:
                await self._take(message, ref)
            except Error as error:
                await _send(self._socket, {"type": "problem", "ref": ref, "problem": problem(error)})
            except ValidationError as error:
                wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
                await _send(self._socket, {"type": "problem", "ref": ref, "problem": {"code": "request", "message": wrong}})

    async def _take(self, message: dict[str, Any], ref: Any) -> None:
        assert self.who is not None
        kind = message.pop("type", None)
        self._door.rates.take(self.who.tenant)
        if kind == "cancel":
            run = self._door.runs.get(str(message.get("execution", "")), self.who)
            if run.caller == self.who.caller:
                run.task.cancel()
            return
        if kind == "hello":
            return
        if kind != "execute":
            raise Refused("a message has the type execute or cancel", rule="ws.type")
        if len(self._tasks) >= AT_ONCE:
            raise Busy(f"{AT_ONCE} executions are under way on this connection", limit="ws.at_once", value=AT_ONCE)
        asked = ExecuteRequest.model_validate({**message, "background": False})
        if self._door.draining:
            raise Busy("the service is ending", limit="serve.drain_seconds", value=0, retry_after=5.0)
        run, _ = await begin(self._door, self.who, asked)
        task = asyncio.create_task(self._tell(run, ref))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, run: Run, ref: Any) -> None:
        try:
            await _send(self._socket, {"type": "started", "ref": ref, "execution": run.id})
            async for heard in run.follow():
                if heard is not None:
                    await _send(self._socket, {**msgspec.json.decode(heard.text), "ref": ref})
        except (WebSocketDisconnect, RuntimeError):
            pass  # nobody listens any more

    def close(self) -> None:
        """Stop telling; the executions themselves go on."""
        for task in self._tasks:
            task.cancel()


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
