"""Decides which execution runs next: tenants take turns, each has a share of the places, and excess requests are refused at
once. It runs nothing itself."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct, field

from gristmill.errors import Busy

MOST_TENANTS = 10_000
"""Tenants whose request rate is remembered; the tenant that sent no request for the longest time is forgotten first."""


class LaneRules(Struct, frozen=True, kw_only=True):
    """Limits of the queue: how many executions run at once, in total (``places``) and of one tenant (``per_tenant``), how many of
    one tenant may wait (``waiting``), and for how many ``seconds``."""

    places: int
    per_tenant: int
    waiting: int
    seconds: float


class LaneTicket(Struct, eq=False):
    """One execution in the queue of its tenant, waiting or running. ``granted`` is done when it may run."""

    tenant: str
    granted: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    is_over: bool = False


class FairLanes:
    """One queue per tenant, served in turn: a tenant with a thousand requests delays another tenant by one, not by a thousand."""

    def __init__(self, rules: LaneRules) -> None:
        self._rules = rules
        self._queues: dict[str, deque[LaneTicket]] = {}
        self._running: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """Number of executions that run now, of all tenants."""
        return self._running.total()

    def count_running_and_waiting(self, tenant: str) -> tuple[int, int]:
        """Returns how many executions of ``tenant`` run, and how many wait."""
        return self._running[tenant], len(self._queues.get(tenant, ()))

    def enter(self, tenant: str) -> LaneTicket:
        """Puts one execution into the queue of ``tenant``; the returned ticket holds its place in the queue.

        Raises:
            Busy: too many executions of this tenant wait already.
        """
        running, waiting = self.count_running_and_waiting(tenant)
        if waiting >= self._rules.waiting and (running >= self._rules.per_tenant or self.running >= self._rules.places):
            raise Busy(
                f"{waiting:,} of your executions are waiting already: send fewer at once",
                limit="serve.waiting", value=self._rules.waiting, retry_after=1.0 + waiting / 100,
            )  # fmt: skip
        ticket = LaneTicket(tenant)
        self._queues.setdefault(tenant, deque()).append(ticket)
        self._grant_places()
        return ticket

    @asynccontextmanager
    async def hold_place(self, ticket: LaneTicket, *, is_promised: bool = False) -> AsyncGenerator[None]:
        """Waits for the ticket's turn and holds its place while the context is open.

        The wait has no time limit if ``is_promised``: the client was told that this execution will take place.

        Raises:
            Busy: the turn did not come in time.
        """
        try:
            await (ticket.granted if is_promised else self._wait_for_grant(ticket))
            yield
        finally:
            self.leave(ticket)

    def leave(self, ticket: LaneTicket) -> None:
        """Gives up the ticket, whether it waits or runs. Needed for an execution that may end before its turn; a second call
        does nothing."""
        if not ticket.is_over:
            ticket.is_over = True
            self._free_place(ticket)

    @asynccontextmanager
    async def lend_place(self, ticket: LaneTicket) -> AsyncGenerator[None]:
        """Gives the place of ``ticket`` to other executions while a person is asked, then waits for a place again.

        If no place becomes free in time, the execution continues without one, so that the person's answer is not lost.
        """
        self._free_place(ticket)
        ticket.granted = asyncio.get_running_loop().create_future()
        yield
        self._queues.setdefault(ticket.tenant, deque()).append(ticket)
        self._grant_places()
        try:
            await self._wait_for_grant(ticket)
        except Busy:
            self._free_place(ticket)

    async def _wait_for_grant(self, ticket: LaneTicket) -> None:
        if ticket.granted.done():
            return
        try:
            async with asyncio.timeout(self._rules.seconds):
                await ticket.granted
        except TimeoutError:
            seconds = self._rules.seconds
            raise Busy(
                f"no place to run became free within {seconds:g} seconds",
                limit="serve.waiting_seconds",
                value=seconds,
                retry_after=5.0,
            ) from None

    def _free_place(self, ticket: LaneTicket) -> None:
        if ticket.granted.done() and not ticket.granted.cancelled():
            self._running[ticket.tenant] -= 1
            if not self._running[ticket.tenant]:
                del self._running[ticket.tenant]
        elif ticket in self._queues.get(ticket.tenant, ()):
            self._queues[ticket.tenant].remove(ticket)
        self._grant_places()

    def _grant_places(self) -> None:
        while self.running < self._rules.places and (ticket := self._take_next_ticket()) is not None:
            if not ticket.granted.done():
                self._running[ticket.tenant] += 1
                ticket.granted.set_result(None)

    def _take_next_ticket(self) -> LaneTicket | None:
        for tenant in list(self._queues):
            queue = self._queues[tenant]
            if not queue:
                del self._queues[tenant]
            elif self._running[tenant] < self._rules.per_tenant:
                # The tenant that was just served moves to the end of the order of tenants.
                self._queues[tenant] = self._queues.pop(tenant)
                return queue.popleft()
        return None


class RequestRates:
    """Limits the requests of each tenant per minute with a token bucket that refills steadily. 0 means no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def count_request(self, tenant: str) -> None:
        """Counts one request of ``tenant``.

        Raises:
            Busy: there were too many; the error says when the next one is accepted.
        """
        if not self._most:
            return
        now = self._clock()
        left, since = self._buckets.pop(tenant, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / 60)
        taken = left >= 1
        self._buckets[tenant] = (left - 1 if taken else left, now)
        if len(self._buckets) > MOST_TENANTS:
            del self._buckets[next(iter(self._buckets))]
        if not taken:
            wait = (1 - left) * 60 / self._most
            text = f"more than {self._most:,.0f} requests in a minute: send fewer"
            raise Busy(text, limit="serve.requests_per_minute", value=self._most, retry_after=wait)
