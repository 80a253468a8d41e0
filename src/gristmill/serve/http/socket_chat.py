"""Turns of the chat over the WebSocket: messages of the types ``chat``, ``chat_decide``, ``chat_resume`` and ``chat_stop``."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from gristmill.chat.chat_events import ChatEvent
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.open_chats import open_chat
from gristmill.serve.http.shapes.chat_shapes import MessageAsked, PlanDecided, TurnNamed

CHAT_KINDS = ("chat", "chat_decide", "chat_resume", "chat_stop")


async def begin_chat_turn(
    door: HttpDoor, who: Principal, kind: str, message: Mapping[str, Any]
) -> AsyncGenerator[ChatEvent] | None:  # fmt: skip
    """Begins or continues a turn and returns its events; None after a turn was stopped.

    Raises:
        Error: the turn cannot begin, or the caller may not do this.
        ValidationError: the message lacks a field, or has a wrong one.
    """
    if kind == "chat":
        asked = MessageAsked.model_validate({**message, "stream": True})
        options: dict[str, Any] = {"context": asked.context, "conversation": asked.conversation, "mode": asked.mode}
        return await open_chat(door, asked.model).send(asked.message, identity=who.identity, stream=True, **options)
    named = TurnNamed.model_validate({"conversation": message.get("conversation")})
    opened = open_chat(door)
    if kind == "chat_decide":
        who.require_scope("approve")
        decided = PlanDecided.model_validate({"approve": message.get("approve")})
        return await opened.decide(named.conversation, decided.approve, identity=who.identity, stream=True)
    if kind == "chat_resume":
        return await opened.resume(named.conversation, identity=who.identity, stream=True)
    await opened.stop(named.conversation, identity=who.identity)
    return None
