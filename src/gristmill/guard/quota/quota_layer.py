"""A layer that limits calls per minute, bytes per minute and concurrent calls, per session and per server.

A rate is a bucket that holds one minute's amount and fills steadily. An empty bucket refuses at once and says when to try again.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import msgspec

from gristmill.config.sections.quota_section import QuotaConfig, ServerQuota
from gristmill.errors import LimitExceeded
from gristmill.guard.quota.fair_turns import FairTurns
from gristmill.model import Handler, Json, ToolCall, ToolResult

MOST_BUCKETS = 10_000
"""The most sessions and servers that are remembered: programs choose the names and must not fill the memory."""

MOST_GATES = 1_000
"""The most servers whose gate is kept while no call uses it."""

UNMEASURED_BYTES = 1_000_000
"""The size of a value that is not plain JSON (nested too deep, lone surrogates); later layers refuse it in any case."""

Clock = Callable[[], float]
"""Seconds that never run backwards, such as ``time.monotonic``."""

BucketOwner = tuple[str, str]
"""A tenant, and one of its sessions or callers; two tenants never share a bucket, even if these names are equal."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class RateBuckets:
    """One bucket for each session, caller or server. A bucket unused for a minute is full, so it can be dropped without loss."""

    def __init__(self, limit: str, clock: Clock) -> None:
        self._limit, self._clock = limit, clock
        self._buckets: OrderedDict[BucketOwner, _Bucket] = OrderedDict()

    def take(self, who: BucketOwner, amount: float, size: int) -> None:
        """Takes ``amount`` out of the bucket of ``who``, which holds ``size``; a level below zero is a debt to be refilled first.

        Raises:
            LimitExceeded: the bucket is empty.
        """
        bucket = self._refill_bucket(who, size)
        if bucket.level < min(amount, 1.0):
            seconds = (1.0 - bucket.level) * 60 / size
            raise LimitExceeded(
                f"{who[1]} has reached {self._limit} = {size:,}; try again in {seconds:.1f} s", limit=self._limit, value=size
            )
        bucket.level -= amount

    def add_debt(self, who: BucketOwner, amount: float, size: int) -> None:
        """Takes ``amount`` without refusing, for what has already happened; the next ``take`` meets the debt."""
        self._refill_bucket(who, size).level -= amount

    def _refill_bucket(self, who: BucketOwner, size: int) -> _Bucket:
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
    """Limits the concurrent calls of one server; ``users`` counts the calls that run or wait."""

    places: FairTurns
    users: int = field(default=0)


class QuotaLayer:
    """The quota layer. Every call counts, also one that a later layer refuses."""

    def __init__(self, config: QuotaConfig, clock: Clock) -> None:
        self._config = config
        self._sessions = RateBuckets("quota.session_calls_per_minute", clock)
        self._servers = RateBuckets("quota.server_calls_per_minute", clock)
        self._bytes = RateBuckets("quota.bytes_per_minute", clock)
        self._gates: dict[str, _Gate] = {}

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Counts the call, waits for its turn, sends it and counts its answer.

        Raises:
            LimitExceeded: there were too many calls or bytes, or the wait for a place took too long.
        """
        server = call.tool.partition(".")[0]
        who = (call.identity.tenant, f"session {call.session}" if call.session is not None else f"caller {call.identity.caller}")
        server_limits = self._config.servers.get(server, _NO_OWN_LIMITS)
        self._count_call(who, server, server_limits)
        self._count_bytes(who, call.arguments, call.positional)
        most = _choose_limit(server_limits.concurrent_calls, self._config.concurrent_calls)
        result = await (self._proceed_in_turn(server, most, call, proceed) if most else proceed(call))
        if self._config.bytes_per_minute:
            # The answer has already arrived, so it is not refused; a debt makes the session's next call wait.
            self._bytes.add_debt(who, _measure_json(result.value), self._config.bytes_per_minute)
        return result

    def _count_call(self, who: BucketOwner, server: str, server_limits: ServerQuota) -> None:
        if self._config.session_calls_per_minute:
            self._sessions.take(who, 1, self._config.session_calls_per_minute)
        if size := _choose_limit(server_limits.calls_per_minute, self._config.server_calls_per_minute):
            self._servers.take(("", f"server {server[:80]}"), 1, size)

    def _count_bytes(self, who: BucketOwner, *arguments: Json) -> None:
        if self._config.bytes_per_minute:
            self._bytes.take(who, sum(map(_measure_json, arguments)), self._config.bytes_per_minute)

    async def _proceed_in_turn(self, server: str, most: int, call: ToolCall, proceed: Handler) -> ToolResult:
        gate = self._gates.get(server) or self._gates.setdefault(server, _Gate(FairTurns(most)))
        gate.users += 1
        try:
            if not gate.places.take_free_place():
                await self._wait_for_place(gate, server, most, call.identity.tenant)
            try:
                return await proceed(call)
            finally:
                gate.places.give_back_place()
        finally:
            gate.users -= 1
            if not gate.users and len(self._gates) > MOST_GATES:
                self._gates.pop(server, None)

    async def _wait_for_place(self, gate: _Gate, server: str, most: int, tenant: str) -> None:
        with anyio.move_on_after(self._config.wait_seconds) as waiting:
            await gate.places.wait_for_place(tenant)
        if waiting.cancelled_caught:
            raise LimitExceeded(
                f"server {server[:80]} already runs {most} calls (quota.concurrent_calls), "
                f"and none ended within {self._config.wait_seconds:g} s",
                limit="quota.concurrent_calls",
                value=most,
            )


_NO_OWN_LIMITS = ServerQuota()
_ENCODER = msgspec.json.Encoder(enc_hook=repr)


def _choose_limit(own: int | None, usual: int) -> int:
    return usual if own is None else own


def _measure_json(value: Json) -> int:
    try:
        return len(_ENCODER.encode(value)) if value else 2
    except (ValueError, TypeError, OverflowError, RecursionError):
        return UNMEASURED_BYTES
