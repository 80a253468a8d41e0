"""One execution as doors see it: whose it is, how far it is, its events, its questions, and how it ended."""

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from gristmill.events import CallFinished, CallStarted, Event, OutputWritten
from gristmill.model import Identity, Outcome
from gristmill.runs.fair_lanes import LaneTicket
from gristmill.runs.kept_events import KeptEvents
from gristmill.runs.questions import OpenQuestions, Questions
from gristmill.runtime.values.session_values import SessionRecord

LINE_CHARACTERS = 200
"""Length of the last line of output that is shown for a running execution."""
ENDING_SECONDS = 5.0
"""How long ``end`` waits for a cancelled run."""


class RunProblem(Struct, frozen=True, kw_only=True):
    """Why a run ended without an outcome: the code and the message of its error; a fault of ours has no message."""

    code: str
    message: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveRun:
    """One execution, running or finished."""

    identity: Identity
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    session: str | None = None
    """The name of its session."""
    session_record: SessionRecord | None = None
    """Its session, if the door has looked it up; ``has_new_session`` says that it was made for this run."""
    has_new_session: bool = False
    began: float = field(default_factory=time.time)
    via: str | None = None
    """The way of arrival, if it was not an HTTP request."""
    background: bool = False
    """Whether the client is told that the execution will take place, and not how it ends."""
    may_outlive: bool = False
    """Whether it may go on after its request was answered, in the background or as a task: the number of those is limited."""
    fingerprint: str | None = None
    """The digest of all that its request asks for, if the request has a key."""
    code: str | None = None
    """The code as it was sent, while the execution runs; afterwards the audit record has it, with masks."""
    task: "asyncio.Task[Outcome]" = field(init=False)
    """The work; a run that has ended no longer has it."""
    ticket: LaneTicket = field(init=False)
    """Its place in the queue."""
    acknowledged: "asyncio.Future[None]" = field(init=False)
    """Done when the client may be told that the execution will take place; failed if it will not."""
    is_begun: bool = False
    is_task: bool = False
    """Whether the client got it as a task: then its request is answered, and no more messages may be sent for that request."""
    conversation: str | None = None
    """The conversation that it belongs to, as far as the door knows it."""
    title: str | None = None
    """What its caller calls it."""
    arm: str | None = None
    """The arm of a rollout that its caller has; known when its turn has come."""
    outcome: Outcome | None = None
    problem: RunProblem | None = None
    is_replayed: bool = False
    """Whether the outcome is that of an earlier run with the same key."""
    unstored: Outcome | None = None
    """The outcome, if the execution ended while its record could not be stored; no client gets it before it is."""
    ended: float | None = None
    kept_seconds: float = 0.0
    """How long it is kept after its end."""
    last_line: str | None = None
    """The beginning of the last line of output so far."""
    message: str | None = None
    """Its last progress message."""
    open_calls: dict[int, str] = field(default_factory=dict[int, str])
    """The tools of the calls that are not answered yet, by the number of the call."""
    questions: OpenQuestions = field(default_factory=OpenQuestions)
    events: KeptEvents = field(default_factory=KeptEvents)
    on_change: Callable[[], None] | None = None

    @property
    def is_promised(self) -> bool:
        """Whether it is recorded before it runs, and its outcome is stored."""
        return self.background or self.fingerprint is not None

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.problem is not None and self.problem.code == "cancelled"

    @property
    def status(self) -> str:
        """``running``, or how the execution ended."""
        if self.outcome is not None:
            return self.outcome.status
        return "running" if self.ended is None else "cancelled" if self.is_cancelled else "error"

    @property
    def changed(self) -> float:
        """When it last began to work, began to ask, or ended."""
        return max(self.began, self.questions.changed, self.ended or 0.0)

    @property
    def size(self) -> int:
        """Bytes that keeping this run takes: its events, and as much again for the outcome as a value."""
        unstored = 0 if self.unstored is None else 2 * len(msgspec.json.encode(self.unstored))
        return 2 * self.events.size + unstored

    def cancel(self) -> None:
        """Cancels the execution if it is running."""
        if self.ended is None:
            self.task.cancel()

    async def end(self) -> None:
        """Cancels the execution and waits a short time for its end."""
        if self.ended is None:
            task = self.task
            task.cancel()
            await asyncio.wait({task}, timeout=ENDING_SECONDS)

    async def ask(self, params: Any) -> Any:
        """Asks the person behind the client, and waits until the client sends the answer."""
        return await self.questions.ask(params, self.cancel)

    async def wait_for_questions(self, seconds: float | None = None) -> Questions:
        """Waits until the run ends or asks something, at most ``seconds``; returns the open questions."""
        return self.questions.list() if self.ended is not None else await self.questions.wait(self.task, seconds)

    def start_answer_timer(self) -> None:
        """Starts the time within which the client must come back with an answer; then the run is cancelled."""
        self.questions.start_timer(self.cancel)

    def record_event(self, event: Event) -> None:
        """Keeps an event for listeners and wakes them."""
        if self.events.add(event):
            self._update_progress(event)
            if self.on_change is not None:
                self.on_change()

    def record_end(self, name: str, value: object, now: float) -> None:
        """Keeps the last event: the outcome, or the problem that prevented one."""
        self.ended, self.code = now, None
        self.questions.stop_timer()
        self.events.add_last(name, self.id, value)

    def _update_progress(self, event: Event) -> None:
        match event:
            case OutputWritten():
                last_line = event.text.rstrip().rpartition("\n")[2].strip()
                self.last_line = last_line[:LINE_CHARACTERS] or self.last_line
            case CallStarted():
                self.open_calls[event.call] = event.tool
            case CallFinished():
                self.open_calls.pop(event.call, None)
            case _:
                pass
