"""Whose turn it is: executions of tenants take turns, each tenant has its share, and what is too much is told so at once."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import field

from gristmill.errors import Busy
from gristmill.values import dataclass

MOST_TENANTS = 10_000
"""Tenants whose rate is remembered; a full bucket is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRules:
    """How many run, of all and of one tenant; how many of one tenant wait, and for how long."""

    places: int
    per_tenant: int
    waiting: int
    seconds: float


@dataclass(slots=True, eq=False)
class Ticket:
    """A place in the queue of a tenant, or at work."""

    tenant: str
    granted: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    is_over: bool = False


class Lanes:
    """One queue per tenant, served in turn: a tenant with a thousand requests delays another by one, not by a thousand."""

    def __init__(self, rules: LaneRules) -> None:
        self._rules = rules
        self._queues: dict[str, deque[Ticket]] = {}
        self._running: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """Executions at work."""
        return self._running.total()

    def standing(self, tenant: str) -> tuple[int, int]:
        """How many executions of ``tenant`` run, and how many wait."""
        return self._running[tenant], len(self._queues.get(tenant, ()))

    def enter(self, tenant: str) -> Ticket:
        """Queue up; to be used with ``turn``.

        Raises:
            Busy: too many of this tenant wait already.
        """
        running, waiting = self.standing(tenant)
        if waiting >= self._rules.waiting and (running >= self._rules.per_tenant or self.running >= self._rules.places):
            raise Busy(
                f"{waiting:,} executions of yours wait already: send less at once",
                limit="serve.waiting", value=self._rules.waiting, retry_after=1.0 + waiting / 100,
            )  # fmt: skip
        ticket = Ticket(tenant)
        self._queues.setdefault(tenant, deque()).append(ticket)
        self._grant()
        return ticket

    @asynccontextmanager
    async def turn(self, ticket: Ticket, *, for_ever: bool = False) -> AsyncGenerator[None]:
        """Wait for the ticket's turn, ``for_ever`` if it was promised to come, and hold the place.

        Raises:
            Busy: the turn did not come in time.
        """
        try:
            await (ticket.granted if for_ever else self._wait(ticket))
            yield
        finally:
            self.leave(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Give up the ticket, wherever it is; for those that may never come to their ``turn``. Once more does nothing."""
        if not ticket.is_over:
            ticket.is_over = True
            self._free(ticket)

    @asynccontextmanager
    async def away(self, ticket: Ticket) -> AsyncGenerator[None]:
        """Give the place of ``ticket`` to others while a person thinks, and wait for it again afterwards.

        Whose turn does not come in time goes on without: the answer of a person is not thrown away for it.
        """
        self._free(ticket)
        ticket.granted = asyncio.get_running_loop().create_future()
        yield
        self._queues.setdefault(ticket.tenant, deque()).append(ticket)
        self._grant()
        try:
            await self._wait(ticket)
        except Busy:
            self._free(ticket)

    async def _wait(self, ticket: Ticket) -> None:
        if ticket.granted.done():
            return
        try:
            async with asyncio.timeout(self._rules.seconds):
                await ticket.granted
        except TimeoutError:
            seconds = self._rules.seconds
            raise Busy(
                f"no place was free for {seconds:g} seconds", limit="serve.waiting_seconds", value=seconds, retry_after=5.0
            ) from None

    def _free(self, ticket: Ticket) -> None:
        if ticket.granted.done() and not ticket.granted.cancelled():
            self._running[ticket.tenant] -= 1
            if not self._running[ticket.tenant]:
                del self._running[ticket.tenant]
        elif ticket in self._queues.get(ticket.tenant, ()):
            self._queues[ticket.tenant].remove(ticket)
        self._grant()

    def _grant(self) -> None:
        while self.running < self._rules.places and (ticket := self._next()) is not None:
            if not ticket.granted.done():
                self._running[ticket.tenant] += 1
                ticket.granted.set_result(None)

    def _next(self) -> Ticket | None:
        for tenant in list(self._queues):
            queue = self._queues[tenant]
            if not queue:
                del self._queues[tenant]
            elif self._running[tenant] < self._rules.per_tenant:
                # Whoever was served goes to the end of the line of tenants.
                self._queues[tenant] = self._queues.pop(tenant)
                return queue.popleft()
        return None


class Rates:
    """Requests of a tenant in a minute, as a bucket that refills steadily. 0 is no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, tenant: str) -> None:
        """Count one request.

        Raises:
            Busy: too many; says when the next one is welcome.
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
            text = f"more than {self._most:,.0f} requests in a minute: send less"
            raise Busy(text, limit="serve.requests_per_minute", value=self._most, retry_after=wait)
