"""Routes of ``/chat``: messages to a model in front of the tools, and the conversations that are kept of them."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from gristmill.errors import NotFound
from gristmill.runtime.values.kept_conversations import Conversation, ConversationMessage
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.answer_chat import answer_stream, answer_whole, refuse_many_streams, wants_stream
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.open_chats import open_chat
from gristmill.serve.http.require_scopes import EXECUTE
from gristmill.serve.http.routes.event_stream import EventStream, describe_stream
from gristmill.serve.http.shapes.chat_shapes import (
    ChatAnswerView,
    ChatEventView,
    ConversationView,
    MessageAsked,
    PlanDecided,
    StoppedView,
    TurnAsked,
    TurnNothing,
    WholeConversationView,
)

Id = Annotated[str, Path(min_length=1, max_length=128)]
WHOLE, NOTHING = TurnAsked(), TurnNothing()
"""The bodies of requests that have none."""
_EVENTS = describe_stream(ChatEventView)
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ChatAnswerView, "description": "The answer; or, with `stream`, the events of the turn, the answer last.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
}  # fmt: skip


def add_chat(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of the chat."""
    _add_turns(routes, door)
    _add_conversations(routes, door)


def _add_turns(routes: APIRouter, door: HttpDoor) -> None:
    @routes.post("/chat", tags=["chat"], responses=ANSWER)
    async def chat(request: Request, asked: MessageAsked, who: Annotated[Principal, EXECUTE]) -> Response:
        """Sends a message to the model, which answers with text, programs and calls; a turn that fails is an answer, too."""
        opened = open_chat(door, asked.model)
        options: dict[str, Any] = {
            "context": asked.context, "identity": who.identity, "conversation": asked.conversation, "mode": asked.mode
        }  # fmt: skip
        if wants_stream(request, asked.stream):
            refuse_many_streams(door, who)
            return answer_stream(door, who, request, await opened.send(asked.message, stream=True, **options))
        return await answer_whole(request, opened.send(asked.message, stream=False, **options))

    @routes.post("/chat/conversations/{id}/decide", tags=["chat"], responses=ANSWER)
    async def decide_plan(id: Id, request: Request, asked: PlanDecided, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002
        """Decides about the plan for which a conversation waits, and continues the turn. Needs the scope `approve`, too."""
        who.require_scope("approve")
        opened = open_chat(door)
        if wants_stream(request, asked.stream):
            refuse_many_streams(door, who)
            events = await opened.decide(id, asked.approve, identity=who.identity, stream=True)
            return answer_stream(door, who, request, events)
        return await answer_whole(request, opened.decide(id, asked.approve, identity=who.identity))

    @routes.post("/chat/conversations/{id}/resume", tags=["chat"], responses=ANSWER)
    async def resume_turn(
        id: Id, request: Request, who: Annotated[Principal, EXECUTE], asked: TurnAsked = WHOLE,  # noqa: A002
    ) -> Response:  # fmt: skip
        """Continues a turn that failed, was stopped, was decided elsewhere, or whose process died; no call is repeated."""
        opened = open_chat(door)
        if wants_stream(request, asked.stream):
            refuse_many_streams(door, who)
            return answer_stream(door, who, request, await opened.resume(id, identity=who.identity, stream=True))
        return await answer_whole(request, opened.resume(id, identity=who.identity))

    @routes.get("/chat/conversations/{id}/events", tags=["chat"], response_class=EventStream, responses=_EVENTS)
    async def turn_events(id: Id, request: Request, who: Annotated[Principal, EXECUTE]) -> EventStream:  # noqa: A002
        """Streams the events of the turn that runs now, from its beginning; closing the stream does not stop the turn."""
        refuse_many_streams(door, who)
        events = open_chat(door).follow(id, identity=who.identity)
        if events is None:
            raise NotFound("no turn of this conversation runs here")
        return answer_stream(door, who, request, events)

    @routes.post("/chat/conversations/{id}/stop", tags=["chat"])
    async def stop_turn(id: Id, who: Annotated[Principal, EXECUTE], _asked: TurnNothing = NOTHING) -> StoppedView:  # noqa: A002
        """Stops the running turn, its program included; it can be resumed."""
        return StoppedView(done=await open_chat(door).stop(id, identity=who.identity))


def _add_conversations(routes: APIRouter, door: HttpDoor) -> None:
    @routes.get("/chat/conversations", tags=["chat"])
    async def conversations(
        who: Annotated[Principal, EXECUTE], limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
        before: Annotated[float | None, Query(ge=0, le=1e12)] = None,
    ) -> list[ConversationView]:  # fmt: skip
        """Lists your conversations, those used last first; `before` is the `used` of the last one of a page."""
        found = await door.runtime.session_stores.conversations.list(who.identity, limit=limit, before=before)
        return [ConversationView.model_validate(_view_conversation(each)) for each in found]

    @routes.get("/chat/conversations/{id}", tags=["chat"])
    async def conversation(id: Id, who: Annotated[Principal, EXECUTE]) -> WholeConversationView:  # noqa: A002
        """Returns one of your conversations with its messages, its turns, and the plan for which it waits."""
        opened = open_chat(door)
        found = await opened.conversation_of(id, identity=who.identity)
        messages = await opened.messages(id, identity=who.identity)
        turns = await opened.turns(id, identity=who.identity)
        return WholeConversationView.model_validate({
            **_view_conversation(found), "messages": [_view_message(each) for each in messages],
            "turns_taken": msgspec.to_builtins(turns), "question": await opened.question(id, identity=who.identity),
        })  # fmt: skip

    @routes.delete("/chat/conversations/{id}", tags=["chat"], status_code=204)
    async def delete_conversation(id: Id, who: Annotated[Principal, EXECUTE]) -> None:  # noqa: A002
        """Deletes one of your conversations with its session and its files; a running turn is stopped."""
        await open_chat(door).delete(id, identity=who.identity)

    @routes.post("/chat/conversations/{id}/undo", tags=["chat"])
    async def undo_turn(id: Id, who: Annotated[Principal, EXECUTE], _asked: TurnNothing = NOTHING) -> StoppedView:  # noqa: A002
        """Forgets the last turn, so that the model does not see it; what its programs did stays done."""
        return StoppedView(done=await open_chat(door).undo(id, identity=who.identity))


def _view_conversation(found: Conversation) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(found)
    return {**fields, "session": f"chat-{found.id}"}


def _view_message(message: ConversationMessage) -> dict[str, Any]:
    said: Mapping[str, Any] = message.body.get("data", {})
    calls: list[Mapping[str, Any]] = said.get("tool_calls") or []
    programs = [str(call["args"]["code"]) for call in calls if isinstance(call.get("args"), dict) and call["args"].get("code")]
    return {
        "number": message.number, "turn": message.turn, "kind": message.kind, "text": _read_text(said.get("content")),
        "programs": programs, "at": message.at,
    }  # fmt: skip


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Any = content or ()
    return "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts)
