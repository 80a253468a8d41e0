"""Runs the shell's code on a runtime in another thread, so that Ctrl-C and questions are handled in the main thread."""

import asyncio
import queue
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.config.tree import Config
from gristmill.events import Emit
from gristmill.model import Budget, Language, Outcome, Plan
from gristmill.runtime.runtime import Runtime

STOP_SECONDS = 5.0
POLL_SECONDS = 0.2
LISTING_SECONDS = 60.0
BUDGET = Budget(output_tokens=50_000, result_tokens=20_000)
"""Larger than for a model: a person at the shell reads for free."""

PlanVerdict = Literal["all", "none"] | Sequence[int]
T = TypeVar("T")


class ShellInterrupted(Exception):
    """Ctrl-C stopped the code."""


class ShellSession:
    """One session of an open runtime, with blocking methods for the main thread."""

    def __init__(self, portal: BlockingPortal, runtime: Runtime, session: str) -> None:
        self._portal, self._session, self.runtime = portal, runtime.session(session), runtime
        self._listing: Future[None] | None = None

    def start_listing(self) -> None:
        """Starts to list servers that were never listed before, in the background while the user begins to type."""
        self._listing = self._portal.start_task_soon(self.runtime.settled, LISTING_SECONDS)

    def stop_listing(self) -> None:
        """Stops the listing that `list_meanwhile` started."""
        if self._listing is not None:
            self._listing.cancel()

    def ask(self, question: Callable[[Runtime], Awaitable[T]]) -> T:
        """Returns the result of an async ``question`` to the runtime."""

        async def work() -> T:
            return await question(self.runtime)

        return self._portal.call(work)

    def run(
        self, code: str, emit: Emit, decide: Callable[[Plan], PlanVerdict] | None, language: Language | None = None
    ) -> Outcome:
        """Runs ``code``. When calls need approval, ``decide`` is called in this thread.

        Raises:
            ShellInterrupted: the user pressed Ctrl-C; the session's names survive if the code stopped when asked to.
        """
        inbox: queue.SimpleQueue[tuple[Plan, Future[PlanVerdict]] | None] = queue.SimpleQueue()

        async def approve(plan: Plan) -> PlanVerdict:
            answer: Future[PlanVerdict] = Future()
            inbox.put((plan, answer))
            return await asyncio.wrap_future(answer)

        options: dict[str, Any] = {"emit": emit, "budget": BUDGET, "approve": approve if decide is not None else None}
        options["language"] = language
        task = self._portal.call(self._start, code, options, inbox)
        try:
            while (question := _wait_for_item(inbox)) is not None:
                assert decide is not None
                question[1].set_result(decide(question[0]))
            return self._portal.call(_await_result, task)
        except KeyboardInterrupt:
            # Cancel once: a cancel scope of anyio would cancel again at every await and break the orderly stop of the session.
            self._portal.call(task.cancel)
            self._portal.call(_wait_until_done, task)
            raise ShellInterrupted from None

    async def _start(self, code: str, options: dict[str, Any], inbox: queue.SimpleQueue[Any]) -> asyncio.Task[Outcome]:
        task = asyncio.create_task(self._session.execute(code, **options))
        task.add_done_callback(lambda _: inbox.put(None))
        return task


def _wait_for_item(inbox: queue.SimpleQueue[T]) -> T:
    """Waits for the next item, with a time-out: a Ctrl-C that the kernel hands to another thread does not wake this thread."""
    while True:
        try:
            return inbox.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue


async def _await_result(task: asyncio.Task[Outcome]) -> Outcome:
    return await task


async def _wait_until_done(task: asyncio.Task[Outcome]) -> None:
    await asyncio.wait([task], timeout=STOP_SECONDS)


@contextmanager
def open_shell_session(config: Config, session: str) -> Generator[ShellSession]:
    """Opens a runtime in another thread, and yields a session of it."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Runtime.open(config)) as runtime:
        opened = ShellSession(portal, runtime, session)
        try:
            yield opened
        finally:
            opened.stop_listing()
