"""One execution, as whoever attends it sees it: what it asks, what it last told, how it ends."""

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_types import ElicitRequestParams, ElicitResult
from pydantic import ValidationError

from gristmill.model import Outcome
from gristmill.serve.mcp.who import Who
from gristmill.session.session_register import SessionRecord

PARKED_SECONDS = 600.0
"""How long a question may stay open without anybody who could answer it."""
ENDING_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Question:
    """Something a run wants to know from the person behind the client."""

    key: str
    params: ElicitRequestParams
    answer: "asyncio.Future[ElicitResult]"


Questions = tuple[Question, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One execution and what it asks."""

    id: str
    who: Who
    session: SessionRecord | None = None
    opened: bool = False
    task: "asyncio.Task[Outcome]" = field(init=False)
    questions: dict[str, Question] = field(default_factory=dict[str, Question])
    """The open ones, by their keys: calls that are under way at the same time may all ask."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    finished: float | None = None
    parked: asyncio.TimerHandle | None = None
    began: float = field(default_factory=time.time)
    changed: float = field(default_factory=time.time)
    """When it last began to work, to ask or to be over, for clients that look at it as a task."""
    is_task: bool = False
    """Handed out as a task: the request it came with is answered, so nothing more may be sent for that."""
    message: str | None = None
    """What it last had to tell."""

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        """Put a question and wait for whoever attends the run to bring the answer."""
        question = Question(key=uuid.uuid4().hex[:8], params=params, answer=asyncio.get_running_loop().create_future())
        self.questions[question.key] = question
        self.changed = time.time()
        self.asked.set()
        self.park()
        try:
            return await question.answer
        finally:
            self._settle(question)

    def answer(self, given: Mapping[str, object]) -> None:
        """Take what a client says to open questions; other keys are nobody's, a wrong kind of answer is a no."""
        for question in tuple(self.questions.values()):
            if question.answer.done() or given.get(question.key) is None:
                continue
            try:
                said = ElicitResult.model_validate(given[question.key], by_name=False)
            except ValidationError:
                said = ElicitResult(action="cancel")
            question.answer.set_result(said)
            self._settle(question)

    async def attend(self, seconds: float | None = None) -> Outcome | Questions:
        """Wait until the run is over or asks something; no questions when that takes longer than ``seconds``."""
        questions = await self.look(seconds)
        return self.task.result() if self.task.done() else questions

    async def look(self, seconds: float | None = None) -> Questions:
        """As ``attend``, without the outcome: however the run ends, this only says what it asks."""
        self._unpark()
        asking = asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({self.task, asking}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        return tuple(self.questions.values())

    async def end(self) -> None:
        """Cancel the run and see it end, if that does not take long."""
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=ENDING_SECONDS)

    def park(self) -> None:
        """The client will come back with an answer, or not: then the run ends."""
        self._unpark()
        self.parked = asyncio.get_running_loop().call_later(PARKED_SECONDS, self.task.cancel)

    def _unpark(self) -> None:
        if self.parked:
            self.parked.cancel()
            self.parked = None

    def _settle(self, question: Question) -> None:
        """It is open no more; without any the run works again."""
        self.questions.pop(question.key, None)
        self.changed = time.time()
        if not self.questions:
            self._unpark()
            self.asked.clear()
