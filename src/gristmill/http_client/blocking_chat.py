"""The chat of a service, for code without an event loop."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from gristmill.http_client.async_chat import Events
from gristmill.http_client.async_client import AsyncClient
from gristmill.model import Json

T = TypeVar("T")


class ClientThread(Protocol):
    """What the chat needs of a client: to run work with the asynchronous one."""

    def run_async(self, work: Callable[[AsyncClient], Awaitable[T]]) -> T: ...

    def iterate_events(self, begin: Callable[[AsyncClient], Events]) -> Generator[dict[str, Any]]: ...


class BlockingChat:
    """Conversations with the model of a service: ``answer = client.chat.send("What did we sell?")``."""

    def __init__(self, client: ClientThread) -> None:
        self._client = client

    def send(
        self, message: str, *, conversation: str | None = None, context: Mapping[str, Json] | None = None,
        mode: str | None = None, model: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Does the same as ``AsyncChat.send``."""
        return self._client.run_async(
            lambda client: client.chat.send(message, conversation=conversation, context=context, mode=mode, model=model)
        )

    def stream(
        self, message: str, *, conversation: str | None = None, context: Mapping[str, Json] | None = None,
        mode: str | None = None, model: str | None = None,
    ) -> Generator[dict[str, Any]]:  # fmt: skip
        """Does the same as ``AsyncChat.stream``."""
        return self._client.iterate_events(
            lambda client: client.chat.stream(message, conversation=conversation, context=context, mode=mode, model=model)
        )

    def decide(self, conversation: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """Does the same as ``AsyncChat.decide``."""
        return self._client.run_async(lambda client: client.chat.decide(conversation, approve))

    def resume(self, conversation: str) -> dict[str, Any]:
        """Does the same as ``AsyncChat.resume``."""
        return self._client.run_async(lambda client: client.chat.resume(conversation))

    def follow(self, conversation: str) -> Generator[dict[str, Any]]:
        """Does the same as ``AsyncChat.follow``."""
        return self._client.iterate_events(lambda client: client.chat.follow(conversation))

    def stop(self, conversation: str) -> bool:
        """Does the same as ``AsyncChat.stop``."""
        return self._client.run_async(lambda client: client.chat.stop(conversation))

    def undo(self, conversation: str) -> bool:
        """Does the same as ``AsyncChat.undo``."""
        return self._client.run_async(lambda client: client.chat.undo(conversation))

    def conversations(self, *, limit: int = 50, before: float | None = None) -> list[dict[str, Any]]:
        """Does the same as ``AsyncChat.conversations``."""
        return self._client.run_async(lambda client: client.chat.conversations(limit=limit, before=before))

    def conversation(self, conversation: str) -> dict[str, Any]:
        """Does the same as ``AsyncChat.conversation``."""
        return self._client.run_async(lambda client: client.chat.conversation(conversation))

    def delete(self, conversation: str) -> None:
        """Does the same as ``AsyncChat.delete``."""
        self._client.run_async(lambda client: client.chat.delete(conversation))
