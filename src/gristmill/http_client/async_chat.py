"""The chat of a service, for an event loop. Turns are read as streams, so that a long one meets no time limit of an answer."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, Protocol

from gristmill.errors import UpstreamUnavailable
from gristmill.http_client.quote_paths import quote_part
from gristmill.model import Json

Events = AsyncGenerator[dict[str, Any]]


class RequestSender(Protocol):
    """What the chat needs of a client."""

    async def get(self, path: str, **query: Any) -> Any: ...

    async def request(self, method: str, path: str, *, again: bool = True, **options: Any) -> bytes: ...

    def read_stream(self, method: str, path: str, **options: Any) -> Events: ...


class AsyncChat:
    """Conversations with the model of a service: ``answer = await client.chat.send("What did we sell?")``.

    Answers, events and conversations have the fields of the routes of the chat. A message is sent once: if its answer is lost,
    ``resume`` continues its turn.
    """

    def __init__(self, client: RequestSender) -> None:
        self._client = client

    async def send(
        self, message: str, *, conversation: str | None = None, context: Mapping[str, Json] | None = None,
        mode: str | None = None, model: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Sends a message, in a new conversation or in the given one, and returns the answer.

        Raises:
            NotFound: there is no such conversation, or the chat is closed.
            Conflict: a turn of the conversation is running.
            UpstreamUnavailable: the connection broke; whether the turn goes on is for the service to say (``chat.client_gone``).
        """
        return await _read_answer(self.stream(message, conversation=conversation, context=context, mode=mode, model=model))

    async def stream(
        self, message: str, *, conversation: str | None = None, context: Mapping[str, Json] | None = None,
        mode: str | None = None, model: str | None = None,
    ) -> Events:  # fmt: skip
        """Sends a message and yields the events of its turn, the ``answer`` last. Closing them early stops the turn."""
        asked = {"message": message, "conversation": conversation, "context": context, "mode": mode, "model": model}
        async with aclosing(self._stream_turn("/chat", {name: one for name, one in asked.items() if one is not None})) as events:
            async for event in events:
                yield event

    async def decide(self, conversation: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """Decides about the plan for which a conversation waits, continues its turn, and returns the answer.

        Raises:
            Refused: the token may not approve, or the plan has expired.
            Conflict: no plan of it waits.
        """
        asked = {"approve": approve if isinstance(approve, str) else list(approve)}
        return await _read_answer(self._stream_turn(f"{_build_route(conversation)}/decide", asked))

    async def resume(self, conversation: str) -> dict[str, Any]:
        """Continues a turn that failed or was stopped, and returns the answer; no call is repeated."""
        return await _read_answer(self._stream_turn(f"{_build_route(conversation)}/resume", {}))

    async def follow(self, conversation: str) -> Events:
        """Yields the events of the turn that runs now, from its beginning. Closing them stops nothing.

        Raises:
            NotFound: no turn of it runs.
        """
        async with aclosing(self._client.read_stream("GET", f"{_build_route(conversation)}/events")) as events:
            async for event in events:
                yield event

    async def stop(self, conversation: str) -> bool:
        """Stops the turn that runs, its program included; returns whether one ran."""
        return json.loads(await self._client.request("POST", f"{_build_route(conversation)}/stop"))["done"]

    async def undo(self, conversation: str) -> bool:
        """Forgets the last turn; what its programs did stays done. Returns whether there was one."""
        return json.loads(await self._client.request("POST", f"{_build_route(conversation)}/undo", again=False))["done"]

    async def conversations(self, *, limit: int = 50, before: float | None = None) -> list[dict[str, Any]]:
        """Returns your conversations, those used last first; ``before`` is the ``used`` of the last one of a page."""
        return await self._client.get("/chat/conversations", limit=limit, **({} if before is None else {"before": before}))

    async def conversation(self, conversation: str) -> dict[str, Any]:
        """Returns a conversation with its messages, its turns, and the plan for which it waits."""
        return await self._client.get(_build_route(conversation))

    async def delete(self, conversation: str) -> None:
        """Deletes a conversation with its session and its files; a running turn is stopped."""
        await self._client.request("DELETE", _build_route(conversation))

    def _stream_turn(self, path: str, asked: Mapping[str, Any]) -> Events:
        return self._client.read_stream("POST", path, json={**asked, "stream": True})


async def _read_answer(events: Events) -> dict[str, Any]:
    async with aclosing(events):
        async for event in events:
            if event["type"] == "answer":
                return event["answer"]
    raise UpstreamUnavailable("the stream of events ended without an answer: see what became of the turn, and resume it")


def _build_route(conversation: str) -> str:
    return f"/chat/conversations/{quote_part(conversation)}"
