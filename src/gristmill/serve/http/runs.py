"""Executions that can be asked for by id: those under way, and for a while those that have ended, with what was heard of them."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, field

import msgspec

from gristmill.errors import Busy, Cancelled, Error, NotFound
from gristmill.events import CallFinished, CallProgressed, CallStarted, Event, OutputWritten
from gristmill.ledger.audit.audit_entries import INTERRUPTED
from gristmill.model import Outcome
from gristmill.runs.finished_shelf import Ended, Shelf, ShelfRules
from gristmill.serve.access_tokens import Principal
from gristmill.values import dataclass

EVENTS, EVENT_BYTES = 5_000, 1_000_000
"""What is kept of one execution's events for late and slow listeners; the oldest go first, and that is said."""
BEAT_SECONDS = 15.0
LINE_CHARACTERS = 200
"""Of the last line of output, which is told of what runs."""

_NAMES: dict[type[Event], str] = {
    OutputWritten: "output", CallStarted: "call_started", CallFinished: "call_finished", CallProgressed: "call_progressed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heard:
    """One event as it goes out; ``number`` counts from 1 within its execution."""

    number: int
    name: str
    text: bytes


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One execution."""

    id: str
    tenant: str
    caller: str
    session: str | None
    began: float
    background: bool = False
    fingerprint: str | None = None
    code: str | None = None
    """As it was sent, while it runs; afterwards the record has it, with masks."""
    task: "asyncio.Task[Outcome]" = field(init=False)
    acknowledged: "asyncio.Future[None]" = field(init=False)
    """Done when it may be told that the execution will take place."""
    is_begun: bool = False
    is_cancelled: bool = False
    outcome: Outcome | None = None
    ended: float | None = None
    line: str | None = None
    """The last line of output so far, its beginning."""
    open_calls: dict[int, str] = field(default_factory=dict[int, str])
    """Tools of the calls that are not answered yet, by number."""
    on_change: Callable[[], None] | None = None
    _events: deque[Heard] = field(default_factory=deque[Heard])
    _bytes: int = 0
    _count: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> str:
        """How it is, or how it ended."""
        if self.outcome is not None:
            return self.outcome.status
        return "running" if self.ended is None else "cancelled" if self.is_cancelled else "error"

    def cancel(self) -> None:
        """End it, if it is under way."""
        if self.ended is None:
            self.task.cancel()

    def hear(self, event: Event) -> None:
        """Keep an event for whoever listens."""
        name = _NAMES.get(type(event))
        if name is not None:
            self._keep(name, msgspec.json.encode({"type": name, "at": time.time(), **asdict(event)}))
            self._note(event)
            if self.on_change is not None:
                self.on_change()

    def end(self, name: str, told: object, now: float) -> None:
        """Keep the last event: the outcome, or why there is none."""
        self.ended, self.code = now, None
        self._keep(name, msgspec.json.encode({"type": name, "execution": self.id, name: told}))

    @property
    def size(self) -> int:
        """Bytes that are kept of it: its events, and the outcome once more as a value."""
        return 2 * self._bytes

    async def follow(self, after: int = 0) -> AsyncGenerator[Heard | None]:
        """What was heard after the event of that number, then what is heard until the end; ``None`` when it is quiet."""
        while True:
            changed, last = self._changed, after
            for heard in [heard for heard in self._events if heard.number > after]:
                if heard.number > last + 1:
                    lost = heard.number - last - 1
                    yield Heard(heard.number - 1, "dropped", msgspec.json.encode({"type": "dropped", "events": lost}))
                last = heard.number
                yield heard
            after = max(after, last)
            if self.ended is not None and after >= self._count:
                return
            try:
                await asyncio.wait_for(changed.wait(), BEAT_SECONDS)
            except TimeoutError:
                yield None

    def _note(self, event: Event) -> None:
        match event:
            case OutputWritten():
                said = event.text.rstrip().rpartition("\n")[2].strip()
                self.line = said[:LINE_CHARACTERS] or self.line
            case CallStarted():
                self.open_calls[event.call] = event.tool
            case CallFinished():
                self.open_calls.pop(event.call, None)
            case _:
                pass

    def _keep(self, name: str, text: bytes) -> None:
        self._count += 1
        self._events.append(Heard(self._count, name, text))
        self._bytes += len(text)
        while len(self._events) > 1 and (len(self._events) > EVENTS or self._bytes > EVENT_BYTES):
            self._bytes -= len(self._events.popleft().text)
        self._changed.set()
        self._changed = asyncio.Event()


class Runs:
    """Every run that can be asked for."""

    def __init__(self, rules: ShelfRules, *, background: int, clock: Callable[[], float] = time.time) -> None:
        self._background, self._clock = background, clock
        self._runs: dict[str, Run] = {}
        self._active: dict[str, Run] = {}
        self._shelf = Shelf(rules, self._gone)
        self._last: dict[tuple[str, str], float] = {}
        """When something of a tenant's caller last ended that is kept: streams ask for it all the time."""
        self.changed = asyncio.Event()
        """Set, and another one put in its place, when a run begins or ends; while anybody watches, also when one gets further."""
        self.watching = 0

    @property
    def active(self) -> list[Run]:
        """Those under way."""
        return list(self._active.values())

    def admit(self, run: Run) -> None:
        """Make a run known, before it begins.

        Raises:
            Busy: too many of the tenant are in the background.
        """
        self._shelf.expire(self._clock())
        if run.background:
            count = sum(one.background and one.tenant == run.tenant for one in self.active)
            if count >= self._background:
                text = f"{count:,} background executions of yours are under way: wait for one"
                raise Busy(text, limit="serve.background", value=self._background, retry_after=5.0)
        self._runs[run.id] = self._active[run.id] = run
        run.on_change = self._got_further
        self.tell()

    def ended(self, run: Run) -> None:
        """Note that it is over, however it went."""
        run.outcome = None if run.task.cancelled() or run.task.exception() else run.task.result()
        self._active.pop(run.id, None)
        self._last[run.tenant, run.caller] = now = self._clock()
        if run.outcome is not None:
            run.end("outcome", run.outcome, now)
            self._shelf.put(run)
            self.tell()
            return
        run.is_cancelled = run.task.cancelled()
        error = None if run.is_cancelled else run.task.exception()
        told = {"code": error.code, "message": error.message} if isinstance(error, Error) else {"code": "error"}
        run.end("problem", {"code": Cancelled.code} if run.is_cancelled else told, now)
        # An error holds every frame that it came through, and these the request with its body: that must not be kept.
        del run.task
        self._shelf.put(run)
        self.tell()

    def drop(self, run: Run) -> None:
        """Forget a run that did not take place."""
        self._runs.pop(run.id, None)
        self._active.pop(run.id, None)
        self.tell()

    def peek(self, id: str) -> Run | None:  # noqa: A002 - the record's own word
        """The run of that id, whoever's it is; for our own use."""
        return self._runs.get(id)

    def get(self, id: str, who: Principal) -> Run:  # noqa: A002 - the record's own word
        """The run of that id, if ``who`` may see it: its own, or its tenant's with the scope ``read``.

        Raises:
            NotFound: there is none here, or it is somebody else's; a stranger cannot tell which.
        """
        run = self._runs.get(id)
        if run is None or not may_see(who, run.tenant, run.caller):
            raise NotFound(f"no execution {id[:80]!r} is under way or kept here")
        return run

    def running(self, who: Principal) -> list[Run]:
        """What is under way and ``who`` may see, the newest first."""
        seen = [run for run in self._active.values() if may_see(who, run.tenant, run.caller)]
        return sorted(seen, key=lambda run: -run.began)

    def last_ended(self, who: Principal) -> float | None:
        """When something last ended that ``who`` may see, as long as it is kept."""
        return max((ended for of, ended in self._last.items() if may_see(who, *of)), default=None)

    async def drain(self, seconds: float) -> int:
        """Let those under way end within ``seconds``, then end the others; how many these were."""
        tasks = {run.task for run in self.active}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel(INTERRUPTED)
            await asyncio.gather(*late, return_exceptions=True)
            return len(late)
        return 0

    def _gone(self, run: Ended) -> None:
        if not isinstance(run, Run):
            return
        if self._last.get((run.tenant, run.caller)) == run.ended:
            del self._last[run.tenant, run.caller]
        if self._runs.get(run.id) is run:  # another of the same key may have taken its place
            del self._runs[run.id]

    def _got_further(self) -> None:
        if self.watching:
            self.tell()

    def tell(self) -> None:
        """Wake whoever waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


def may_see(who: Principal, tenant: str, caller: str) -> bool:
    """Whether something of a caller is ``who``'s own, or his tenant's and he may read there."""
    return who.tenant == tenant and (who.caller == caller or not who.scopes.isdisjoint({"read", "admin"}))
