"""Questions of a run to the person who started it: a door shows them and brings the answers."""

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PARKED_SECONDS = 600.0
"""How long a run waits for an answer while no request of its client is open; then it is cancelled."""


@dataclass(slots=True, kw_only=True, eq=False)
class OpenQuestion:
    """One question. ``params`` is what is asked, and ``answer`` is done with what was answered, both in the words of the door."""

    key: str
    params: Any
    answer: "asyncio.Future[Any]"


Questions = tuple[OpenQuestion, ...]


class OpenQuestions:
    """The open questions of one run; several calls that run at the same time may each ask one."""

    def __init__(self) -> None:
        self._open: dict[str, OpenQuestion] = {}
        self._asked: asyncio.Event | None = None
        """Set while a question is open; made by a request that waits for one."""
        self._timer: asyncio.TimerHandle | None = None
        self.changed = time.time()
        """When a question was last asked or answered."""

    def __bool__(self) -> bool:
        return bool(self._open)

    def list(self) -> Questions:
        """Returns the open questions, the oldest first."""
        return tuple(self._open.values())

    async def ask(self, params: Any, give_up: Callable[[], object]) -> Any:
        """Adds a question and waits for its answer; ``give_up`` is called if the client does not come back with one."""
        question = OpenQuestion(key=uuid.uuid4().hex[:8], params=params, answer=asyncio.get_running_loop().create_future())
        self._open[question.key] = question
        self.changed = time.time()
        if self._asked is not None:
            self._asked.set()
        self.start_timer(give_up)
        try:
            return await question.answer
        finally:
            self._remove(question)

    def answer(self, question: OpenQuestion, answer: Any) -> None:
        """Answers a question; it is not open any more."""
        if not question.answer.done():
            question.answer.set_result(answer)
        self._remove(question)

    async def wait(self, work: "asyncio.Task[Any]", seconds: float | None = None) -> Questions:
        """Waits until there is a question or ``work`` ends, at most ``seconds``; returns the open questions."""
        self.stop_timer()
        if self._asked is None:
            self._asked = asyncio.Event()
            if self._open:
                self._asked.set()
        asking = asyncio.create_task(self._asked.wait())
        try:
            await asyncio.wait({work, asking}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        return self.list()

    def start_timer(self, give_up: Callable[[], object]) -> None:
        """Starts the time within which the client must come back with an answer."""
        self.stop_timer()
        self._timer = asyncio.get_running_loop().call_later(PARKED_SECONDS, give_up)

    def stop_timer(self) -> None:
        """Stops that time: a request of the client is open, or no question is."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _remove(self, question: OpenQuestion) -> None:
        if self._open.pop(question.key, None) is not None:
            self.changed = time.time()
        if not self._open:
            self.stop_timer()
            if self._asked is not None:
                self._asked.clear()
