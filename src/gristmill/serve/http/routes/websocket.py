"""The route ``/ws``: executions and their events over one WebSocket, for interactive use.

The client sends ``{"type": "execute", "ref": "1", "code": ...}`` with the fields of ``POST /execute`` and gets every event
with the same ``ref``, then the ``outcome``. ``{"type": "cancel", "execution": ID}`` cancels one. ``{"type": "chat", "ref": "2",
"message": ...}`` sends a message to the model and gets the events of its turn. A page, which cannot send headers, begins with
``{"type": "hello", "token": ...}``.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, cast

import msgspec
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from gristmill.chat.chat_events import ChatEvent
from gristmill.errors import Busy, Error, Refused, Unauthorized
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.json_logs import begin_request
from gristmill.serve.http.limits.strict_json import decode_body
from gristmill.serve.http.require_scopes import ListenerCheck
from gristmill.serve.http.run_viewer import build_viewer
from gristmill.serve.http.shapes.api_shapes import ExecuteRequest
from gristmill.serve.http.socket_chat import CHAT_KINDS, begin_chat_turn
from gristmill.serve.http.start_execution import begin_execution
from gristmill.serve.problem_codes import describe_problem

HELLO_SECONDS = 10.0
MOST_EXECUTIONS = 16
"""How many executions one connection may run at the same time."""
POLICY, TRY_LATER = 1008, 1013


def add_websocket(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the route of the WebSocket."""

    @routes.websocket("/ws")
    async def ws(socket: WebSocket) -> None:
        """Serves one connection."""
        try:
            door.wall.check(socket.headers, "GET", websocket=True)
        except Refused:
            await socket.close(POLICY)  # closed before it is accepted: the client sees 403
            return
        await socket.accept()
        begin_request()
        client = _SocketClient(door, socket)
        try:
            client.token_connection = await _receive_token(door, socket)
            await client.listen()
        except Error as error:
            await _send_message(socket, {"type": "problem", "problem": describe_problem(error)})
            await socket.close(TRY_LATER if isinstance(error, Busy) else POLICY)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has disconnected; its executions continue and are recorded
        finally:
            client.close()


async def _receive_token(door: HttpDoor, socket: WebSocket) -> HTTPConnection:
    """Waits for the token of the client if it sent none in a header, and verifies it.

    Returns the connection with the token in its headers, so that it can be verified again later.
    """
    token_connection: HTTPConnection = socket
    if await door.authenticate(socket) is None:
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = await _parse_message(await _receive_text(socket))
        except TimeoutError:
            raise Unauthorized("no token was sent in time") from None
        # Put into the headers, so that there is only one way of verifying.
        token = str(hello.get("token", ""))
        header = (b"authorization", f"Bearer {token}".encode("latin-1", "replace"))
        token_connection = HTTPConnection({**socket.scope, "headers": [*socket.scope["headers"], header]})
    await _verify_caller(door, token_connection)
    return token_connection


async def _verify_caller(door: HttpDoor, token_connection: HTTPConnection) -> Principal:
    who = await door.authenticate(token_connection)
    if who is None:
        raise Unauthorized("send a token first")
    who.require_scope("execute")
    return who


class _SocketClient:
    def __init__(self, door: HttpDoor, socket: WebSocket) -> None:
        self._door, self._socket = door, socket
        self._tasks: set[asyncio.Task[None]] = set()
        self.token_connection: HTTPConnection = socket

    async def listen(self) -> None:
        """Answers messages until the client disconnects."""
        while True:
            message = await _parse_message(await _receive_text(self._socket))
            ref = message.pop("ref", None)
            try:
                # Verified for every message: a token that was revoked meanwhile must not work.
                await self._handle_message(await _verify_caller(self._door, self.token_connection), message, ref)
            except Unauthorized:
                raise
            except Error as error:
                await _send_message(self._socket, {"type": "problem", "ref": ref, "problem": describe_problem(error)})
            except ValidationError as error:
                wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
                await _send_message(
                    self._socket, {"type": "problem", "ref": ref, "problem": {"code": "request", "message": wrong}}
                )

    async def _handle_message(self, who: Principal, message: dict[str, Any], ref: Any) -> None:
        kind = message.pop("type", None)
        self._door.rates.count_request(who.tenant)
        if kind == "cancel":
            run = self._door.runs.get(str(message.get("execution", "")), build_viewer(who))
            if run.identity == who.identity:
                run.cancel()
            return
        if kind == "hello":
            return
        if kind != "execute" and kind not in CHAT_KINDS:
            raise Refused("the type of a message must be execute, cancel, chat, or one of the chat's others", rule="ws.type")
        if len(self._tasks) >= MOST_EXECUTIONS:
            raise Busy(
                f"{MOST_EXECUTIONS} executions are running on this connection: wait for one to end",
                limit="ws.at_once",
                value=MOST_EXECUTIONS,
            )
        if kind == "execute":
            asked = ExecuteRequest.model_validate({**message, "background": False})
            run, _ = await begin_execution(self._door, who, asked, via="ws")
            self._start_sending(self._send_events(run, ref))
        elif (events := await begin_chat_turn(self._door, who, str(kind), message)) is not None:
            self._start_sending(self._send_turn(events, ref))

    def _start_sending(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_events(self, run: ActiveRun, ref: Any) -> None:
        try:
            await _send_message(self._socket, {"type": "started", "ref": ref, "execution": run.id})
            is_known = ListenerCheck(self._door, self.token_connection)
            async for event in run.events.follow():
                if not await is_known():
                    await self._socket.close(POLICY)
                    return
                if event is not None:
                    await _send_message(self._socket, {**msgspec.json.decode(event.text), "ref": ref})
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has disconnected

    async def _send_turn(self, events: AsyncGenerator[ChatEvent], ref: Any) -> None:
        is_known = ListenerCheck(self._door, self.token_connection)
        async with aclosing(events):  # a turn whose client has left is stopped, or not, as the configuration says
            try:
                async for event in events:
                    if not await is_known():
                        await self._socket.close(POLICY)
                        return
                    await _send_message(self._socket, {**msgspec.to_builtins(event), "ref": ref})
            except (WebSocketDisconnect, RuntimeError):
                pass  # the client has disconnected

    def close(self) -> None:
        """Stops sending events; the executions themselves continue."""
        for task in self._tasks:
            task.cancel()


async def _receive_text(socket: WebSocket) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    if message.get("text") is None:
        raise Refused("a message must be text, not bytes", rule="ws.text")
    return message["text"]


async def _parse_message(text: str) -> dict[str, Any]:
    try:
        found = await decode_body(text)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused("a message must be a JSON object", rule="ws.json")
    return cast("dict[str, Any]", found)


async def _send_message(socket: WebSocket, message: dict[str, Any]) -> None:
    await socket.send_text(json.dumps(message))
