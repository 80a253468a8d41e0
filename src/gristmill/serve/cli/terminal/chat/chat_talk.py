"""Runs the turns of a conversation in another thread, so that Ctrl-C and questions are handled in the main thread."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.chat.chat import Chat, name_chat_session
from gristmill.chat.chat_events import ChatEvent, ChatMode, TurnBegan
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.model import LOCAL_IDENTITY, Json
from gristmill.runtime.open.session_stores import SessionRecord
from gristmill.runtime.runtime import Runtime

STOP_SECONDS = 5.0
POLL_SECONDS = 0.2

T = TypeVar("T")
Begin = Callable[[Chat], Awaitable[AsyncGenerator[ChatEvent]]]
Show = Callable[[ChatEvent], None]


class ChatTalk:
    """One person's conversation with a model, with blocking methods for the main thread."""

    def __init__(
        self, portal: BlockingPortal, runtime: Runtime, chat: Chat, *, user: str | None, context: dict[str, Json]
    ) -> None:
        self._portal, self.runtime, self._chat = portal, runtime, chat
        self.user, self.context = user, context
        self.mode: ChatMode | None = None
        self.conversation: str | None = None
        """None until the first message of a new conversation was sent."""

    @property
    def session(self) -> str | None:
        """Returns the session of the conversation's programs."""
        return None if self.conversation is None else name_chat_session(self.conversation)

    def ask(self, question: Callable[[Chat], Awaitable[T]]) -> T:
        """Returns the result of an async ``question`` to the chat."""

        async def work() -> T:
            return await question(self._chat)

        return self._portal.call(work)

    def ask_runtime(self, question: Callable[[Runtime], Awaitable[T]]) -> T:
        """Returns the result of an async ``question`` to the runtime."""

        async def work() -> T:
            return await question(self.runtime)

        return self._portal.call(work)

    def find_session(self) -> SessionRecord | None:
        """Returns the session of the conversation's programs; None before the first program."""
        sessions, name = self.runtime.session_stores.sessions, self.session
        if name is None:
            return None
        try:
            return self._portal.call(partial(sessions.find_by_name, name, identity=LOCAL_IDENTITY, whole_tenant=True))
        except NotFound:
            return None

    def send(self, message: str, show: Show) -> bool:
        """Sends a message, and shows what happens; returns False if the turn was stopped by Ctrl-C."""

        async def begin(chat: Chat) -> AsyncGenerator[ChatEvent]:
            return await chat.send(
                message, context=self.context, user=self.user, conversation=self.conversation, mode=self.mode, stream=True
            )

        return self._follow(begin, show)

    def decide(self, approve: Any, show: Show) -> bool:
        """Answers the question of the turn that waits, and shows how it goes on."""

        async def begin(chat: Chat) -> AsyncGenerator[ChatEvent]:
            return await chat.decide(str(self.conversation), approve, user=self.user, stream=True)

        return self._follow(begin, show)

    def resume(self, show: Show) -> bool:
        """Continues a turn that was interrupted, and shows how it goes on."""

        async def begin(chat: Chat) -> AsyncGenerator[ChatEvent]:
            return await chat.resume(str(self.conversation), user=self.user, stream=True)

        return self._follow(begin, show)

    def _follow(self, begin: Begin, show: Show) -> bool:
        inbox: SimpleQueue[ChatEvent | None] = SimpleQueue()
        task = self._portal.call(self._start, begin, inbox)
        is_stopping = False
        while True:
            try:
                event = _take_event(inbox)
                if event is None:
                    break
                if isinstance(event, TurnBegan):
                    self.conversation = event.conversation
                show(event)
            except KeyboardInterrupt:
                if is_stopping:
                    self._portal.call(task.cancel)
                is_stopping = True
                self._portal.call(self._stop, task)
        if not is_stopping:
            self._portal.call(_await_end, task)
        return not is_stopping

    async def _start(self, begin: Begin, inbox: SimpleQueue[ChatEvent | None]) -> asyncio.Task[None]:
        async def pump() -> None:
            async with aclosing(await begin(self._chat)) as events:
                async for event in events:
                    inbox.put(event)

        task = asyncio.create_task(pump())
        task.add_done_callback(lambda _: inbox.put(None))
        return task

    async def _stop(self, task: asyncio.Task[None]) -> None:
        """Stops the turn; the task ends by itself with the answer of the stopped turn, or is cancelled."""
        try:
            async with asyncio.timeout(STOP_SECONDS):
                was_running = self.conversation is not None and await self._chat.stop(self.conversation, user=self.user)
                if was_running:
                    await asyncio.wait([task])
        except TimeoutError:
            pass
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=STOP_SECONDS)


def _take_event(inbox: SimpleQueue[T]) -> T:
    """Waits for the next event, with a time-out: a Ctrl-C that the kernel hands to another thread does not wake this thread."""
    while True:
        try:
            return inbox.get(timeout=POLL_SECONDS)
        except Empty:
            continue


async def _await_end(task: asyncio.Task[None]) -> None:
    await task


@contextmanager
def open_talk(
    config: Config, model: str | None, *, mode: ChatMode | None, base_url: str | None, user: str | None, context: dict[str, Json]
) -> Generator[ChatTalk]:
    """Opens a runtime and a chat in another thread, and yields a conversation that has not begun.

    Raises:
        ConfigError: no model is named, or its key is missing.
    """

    async def open_chat(runtime: Runtime) -> Chat:
        return Chat(runtime, model, mode=mode, base_url=base_url)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Runtime.open(config)) as runtime:
        chat = portal.call(open_chat, runtime)
        try:
            yield ChatTalk(portal, runtime, chat, user=user, context=context)
        finally:
            portal.call(chat.close)
