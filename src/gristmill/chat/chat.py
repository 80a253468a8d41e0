"""Chat for everybody: a message becomes text, programs and calls, and an answer; conversations are kept in the store."""

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, overload

from langchain_core.language_models import BaseChatModel

from gristmill.chat.chat_events import ChatAnswer, ChatEvent, ChatMode
from gristmill.chat.code_backends import Approved
from gristmill.model import Identity, Json
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.kept_conversations import Conversation, ConversationMessage


class Chat:
    """A model in front of an open runtime: ``answer = await Chat(runtime, "anthropic:...").send("...", user="ann")``.

    ``model`` is a string of LangChain's ``init_chat_model`` or a chat model; without it and ``mode`` the section ``chat`` of the
    configuration says which. All methods belong to the event loop of the runtime.
    """

    def __init__(
        self, runtime: Runtime, model: str | BaseChatModel | None = None, *, mode: ChatMode | None = None,
        base_url: str | None = None, direct: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        raise NotImplementedError

    @overload
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: Literal[False] = False,
    ) -> ChatAnswer: ...  # fmt: skip
    @overload
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: Literal[True],
    ) -> AsyncGenerator[ChatEvent]: ...  # fmt: skip
    async def send(
        self, message: str, *, context: Mapping[str, Json] | None = None, user: str | None = None,
        identity: Identity | None = None, conversation: str | None = None, mode: ChatMode | None = None,
        stream: bool = False,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:  # fmt: skip
        """Sends a message, in a new conversation or in the given one; returns the answer, or the events of the turn.

        An answer ``awaiting_approval`` carries a question: ``decide`` answers it and continues the turn. Closing the events early
        stops the turn, or keeps it running, as ``chat.client_gone`` says.
        """
        raise NotImplementedError

    async def decide(
        self, conversation: str, approve: Approved, *, by: str | None = None, user: str | None = None,
        identity: Identity | None = None, stream: bool = False,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:  # fmt: skip
        """Answers the question of a turn that waits (``"all"``, ``"none"`` or numbers of calls), and continues it."""
        raise NotImplementedError

    async def resume(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None, stream: bool = False,
    ) -> ChatAnswer | AsyncGenerator[ChatEvent]:  # fmt: skip
        """Continues a turn whose process died or that was stopped: what was called is not called again."""
        raise NotImplementedError

    async def stop(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Stops the running turn, its program included; returns whether one was running here."""
        raise NotImplementedError

    async def undo(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Forgets the last turn; what its programs did stays done."""
        raise NotImplementedError

    async def conversations(self, *, user: str | None = None, identity: Identity | None = None, limit: int = 50) -> tuple[Conversation, ...]:
        """Returns the conversations of a user, the newest first."""
        raise NotImplementedError

    async def conversation_of(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> Conversation:
        """Returns one conversation."""
        raise NotImplementedError

    async def messages(
        self, conversation: str, *, user: str | None = None, identity: Identity | None = None
    ) -> tuple[ConversationMessage, ...]:
        """Returns the messages of a conversation, in order."""
        raise NotImplementedError

    async def delete(self, conversation: str, *, user: str | None = None, identity: Identity | None = None) -> bool:
        """Deletes a conversation, its session and its files."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stops all turns of this chat."""
        raise NotImplementedError


def name_chat_session(conversation: str) -> str:
    """Returns the name of the session in which the programs of a conversation run: its files are there."""
    return f"chat-{conversation}"
