"""How much may leave in a while: a layer that counts calls, bytes and calls at the same time, per session and per server.

Rates are buckets that hold one minute's worth and fill steadily; an empty one refuses at once and says when to try again.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import msgspec

from gristmill.config.sections.quota_section import QuotaConfig, ServerQuota
from gristmill.errors import LimitExceeded
from gristmill.guard.quota.fair_turns import Turns
from gristmill.model import Handler, Json, ToolCall, ToolResult

MOST_BUCKETS = 10_000
"""Sessions and servers remembered; names come from code, which must not fill our memory."""

MOST_GATES = 1_000
"""Servers whose gate is kept while nobody calls them."""

UNMEASURED_BYTES = 1_000_000
"""What a value counts for that is no plain JSON (too deep, lone surrogates); later layers refuse it anyway."""

Clock = Callable[[], float]
"""Seconds that never run backwards, such as ``time.monotonic``."""

Who = tuple[str, str]
"""A tenant, and which of its sessions or callers; no two tenants share a bucket, whatever their names are."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class Buckets:
    """One bucket for each. A bucket left alone for a minute is full again, so forgetting it forgets nothing."""

    def __init__(self, limit: str, clock: Clock) -> None:
        self._limit, self._clock = limit, clock
        self._buckets: OrderedDict[Who, _Bucket] = OrderedDict()

    def take(self, who: Who, amount: float, size: int) -> None:
        """Take ``amount`` out of the bucket of ``who``, which holds ``size``; it may run into debt, and then refuses.

        Raises:
            LimitExceeded: there is nothing left.
        """
        bucket = self._filled(who, size)
        if bucket.level < min(amount, 1.0):
            seconds = (1.0 - bucket.level) * 60 / size
            raise LimitExceeded(
                f"{who[1]} has reached {self._limit} = {size:,}; try again in {seconds:.1f} s", limit=self._limit, value=size
            )
        bucket.level -= amount

    def owe(self, who: Who, amount: float, size: int) -> None:
        """As ``take``, for what cannot be taken back: a debt that the next one meets."""
        self._filled(who, size).level -= amount

    def _filled(self, who: Who, size: int) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(who)
        if bucket is None:
            if len(self._buckets) >= MOST_BUCKETS:
                self._buckets.popitem(last=False)
            bucket = self._buckets[who] = _Bucket(level=float(size), at=now)
        self._buckets.move_to_end(who)
        bucket.level = min(float(size), bucket.level + max(0.0, now - bucket.at) * size / 60)
        bucket.at = now
        return bucket


@dataclass(slots=True)
class _Gate:
    """Lets ``places`` calls through at a time; ``users`` are those inside and waiting."""

    places: Turns
    users: int = field(default=0)


class Quota:
    """The layer. Every call counts, also one that a later layer refuses."""

    def __init__(self, config: QuotaConfig, clock: Clock) -> None:
        self._config = config
        self._sessions = Buckets("quota.session_calls_per_minute", clock)
        self._servers = Buckets("quota.server_calls_per_minute", clock)
        self._bytes = Buckets("quota.bytes_per_minute", clock)
        self._gates: dict[str, _Gate] = {}

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Count the call, wait for its turn, pass it on, count its answer.

        Raises:
            LimitExceeded: too many, too much, or too long a wait.
        """
        server = call.tool.partition(".")[0]
        who = (call.tenant, f"session {call.session}" if call.session is not None else f"caller {call.caller}")
        theirs = self._config.servers.get(server, _USUAL)
        self._count(who, server, theirs)
        self._weigh(who, call.arguments, call.positional)
        most = _first(theirs.concurrent_calls, self._config.concurrent_calls)
        result = await (self._in_turn(server, most, call, proceed) if most else proceed(call))
        if self._config.bytes_per_minute:
            # The answer is here and paid for; whoever ran into debt with it waits before the next.
            self._bytes.owe(who, _size(result.value), self._config.bytes_per_minute)
        return result

    def _count(self, who: Who, server: str, theirs: ServerQuota) -> None:
        if self._config.session_calls_per_minute:
            self._sessions.take(who, 1, self._config.session_calls_per_minute)
        if size := _first(theirs.calls_per_minute, self._config.server_calls_per_minute):
            self._servers.take(("", f"server {server[:80]}"), 1, size)

    def _weigh(self, who: Who, *arguments: Json) -> None:
        if self._config.bytes_per_minute:
            self._bytes.take(who, sum(map(_size, arguments)), self._config.bytes_per_minute)

    async def _in_turn(self, server: str, most: int, call: ToolCall, proceed: Handler) -> ToolResult:
        gate = self._gates.get(server) or self._gates.setdefault(server, _Gate(Turns(most)))
        gate.users += 1
        try:
            if not gate.places.take():
                await self._enter(gate, server, most, call.tenant)
            try:
                return await proceed(call)
            finally:
                gate.places.leave()
        finally:
            gate.users -= 1
            if not gate.users and len(self._gates) > MOST_GATES:
                self._gates.pop(server, None)

    async def _enter(self, gate: _Gate, server: str, most: int, tenant: str) -> None:
        with anyio.move_on_after(self._config.wait_seconds) as waiting:
            await gate.places.wait(tenant)
        if waiting.cancelled_caught:
            raise LimitExceeded(
                f"server {server[:80]} has {most} calls under way (quota.concurrent_calls), "
                f"and none ended within {self._config.wait_seconds:g} s",
                limit="quota.concurrent_calls",
                value=most,
            )


_USUAL = ServerQuota()
_ENCODER = msgspec.json.Encoder(enc_hook=repr)


def _first(own: int | None, usual: int) -> int:
    return usual if own is None else own


def _size(value: Json) -> int:
    try:
        return len(_ENCODER.encode(value)) if value else 2
    except (ValueError, TypeError, OverflowError, RecursionError):
        return UNMEASURED_BYTES
