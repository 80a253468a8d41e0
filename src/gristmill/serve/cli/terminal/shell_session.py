"""The shell's line to the runtime, which lives in a thread of its own: run code, be interrupted, answer questions."""

import asyncio
import queue
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.config.tree import Config
from gristmill.events import Emit
from gristmill.model import Budget, Outcome, Plan
from gristmill.runtime.runtime import Runtime

STOP_SECONDS = 5.0
LOOK_UP_SECONDS = 0.2
LISTING_SECONDS = 60.0
BUDGET = Budget(output_tokens=50_000, result_tokens=20_000)
"""A person reads more than a model should have to pay for."""

Verdict = Literal["all", "none"] | Sequence[int]
T = TypeVar("T")


class Interrupted(Exception):
    """The code was stopped by Ctrl-C."""


class Conversation:
    """One session of an open runtime, for a caller that waits in the main thread."""

    def __init__(self, portal: BlockingPortal, runtime: Runtime, session: str) -> None:
        self._portal, self._session, self.runtime = portal, runtime.session(session), runtime
        self._listing: Future[None] | None = None

    def list_meanwhile(self) -> None:
        """Let servers whose tools are not known yet be listed while a person begins to type."""
        self._listing = self._portal.start_task_soon(self.runtime.settled, LISTING_SECONDS)

    def leave(self) -> None:
        """Wait for nobody."""
        if self._listing is not None:
            self._listing.cancel()

    def ask(self, question: Callable[[Runtime], Awaitable[T]]) -> T:
        """The answer of the runtime to anything."""

        async def work() -> T:
            return await question(self.runtime)

        return self._portal.call(work)

    def run(self, code: str, emit: Emit, decide: Callable[[Plan], Verdict] | None) -> Outcome:
        """Run ``code``; ``decide`` is asked here, in this thread, when calls need approval.

        Raises:
            Interrupted: by Ctrl-C; the session lives on if the code stopped when asked.
        """
        inbox: queue.SimpleQueue[tuple[Plan, Future[Verdict]] | None] = queue.SimpleQueue()

        async def approve(plan: Plan) -> Verdict:
            answer: Future[Verdict] = Future()
            inbox.put((plan, answer))
            return await asyncio.wrap_future(answer)

        options: dict[str, Any] = {"emit": emit, "budget": BUDGET, "approve": approve if decide is not None else None}
        task = self._portal.call(self._start, code, options, inbox)
        try:
            while (question := _next(inbox)) is not None:
                assert decide is not None
                question[1].set_result(decide(question[0]))
            return self._portal.call(_result, task)
        except KeyboardInterrupt:
            # Once and no more: a scope of anyio would cancel again and again, and not let the session stop in peace.
            self._portal.call(task.cancel)
            self._portal.call(_over, task)
            raise Interrupted from None

    async def _start(self, code: str, options: dict[str, Any], inbox: "queue.SimpleQueue[Any]") -> "asyncio.Task[Outcome]":
        task = asyncio.create_task(self._session.execute(code, **options))
        task.add_done_callback(lambda _: inbox.put(None))
        return task


def _next(inbox: "queue.SimpleQueue[T]") -> T:
    """What comes next. Ctrl-C may reach another thread, which does not wake this one: it has to look up now and then."""
    while True:
        try:
            return inbox.get(timeout=LOOK_UP_SECONDS)
        except queue.Empty:
            continue


async def _result(task: "asyncio.Task[Outcome]") -> Outcome:
    return await task


async def _over(task: "asyncio.Task[Outcome]") -> None:
    await asyncio.wait([task], timeout=STOP_SECONDS)


@contextmanager
def conversation(config: Config, session: str) -> Generator[Conversation]:
    """An open runtime in a thread of its own, and a session in it."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Runtime.open(config)) as runtime:
        opened = Conversation(portal, runtime, session)
        try:
            yield opened
        finally:
            opened.leave()


def plan_lines(plan: Plan) -> list[str]:
    """What a plan wants to do, a line per call."""

    def words(arguments: Any) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in arguments.items())[:300]

    return [f"{call.number}. {call.tool}({words(call.arguments)})  [{call.rule}]" for call in plan.calls]
