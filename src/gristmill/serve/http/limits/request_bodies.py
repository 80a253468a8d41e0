"""Bodies of requests: how large, how slow, and how much of the memory they may take, of one tenant and of all."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from starlette.requests import Request

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Busy, LimitExceeded
from gristmill.sandbox.linux.cgroups import memory_bytes

LEAST_HELD, MOST_HELD, SHARE = 32_000_000, 256_000_000, 8
"""For bodies there is an eighth of the memory that we may use, within these bounds."""
LIST, OBJECT, VALUE = 80, 200, 64
"""Bytes that a list, an object and one more value take beside their text: three characters of JSON can be eighty bytes."""


def most_held() -> int:
    """Bytes for the bodies of all tenants together."""
    return min(MOST_HELD, max(LEAST_HELD, memory_bytes() // SHARE))


class Budget:
    """Bytes of requests that are held in memory. A tenant may have as much as is left for all others: half of it alone, less
    where others have some, and there is always room for whoever comes new."""

    def __init__(self, most: int) -> None:
        self.most, self._held = most, Counter[str]()

    def take(self, size: int, tenant: str) -> None:
        """Hold ``size`` bytes more for ``tenant``.

        Raises:
            Busy: there is no room.
        """
        if self._held[tenant] + size > self.most - self._held.total() - size:
            text = "too many large requests of yours at once: send less, or one after another"
            raise Busy(text, limit="memory", value=self.most, retry_after=2.0)
        self._held[tenant] += size

    @contextmanager
    def holding(self, size: int, tenant: str) -> Generator[None]:
        """Hold ``size`` bytes more for ``tenant`` meanwhile.

        Raises:
            Busy: there is no room.
        """
        self.take(size, tenant)
        try:
            yield
        finally:
            self.give(size, tenant)

    def give(self, size: int, tenant: str) -> None:
        """Let them go."""
        self._held[tenant] -= size
        if not self._held[tenant]:
            del self._held[tenant]


@asynccontextmanager
async def held_body(request: Request, config: ServeConfig, budget: Budget, tenant: str) -> AsyncGenerator[bytes]:
    """The whole body, within its size and time; held against ``budget`` meanwhile, with room for what it is once it is read.

    Raises:
        LimitExceeded: it is too large, or too slow.
        Busy: there is no room for it now.
    """
    held = 0

    async def read() -> bytes:
        nonlocal held
        chunks: list[bytes] = []
        async for chunk in request.stream():
            budget.take(len(chunk), tenant)
            held += len(chunk)
            if held > config.body_bytes:
                raise _too_large(config)
            chunks.append(chunk)
        return b"".join(chunks)

    declared = request.headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit() or int(declared[:20]) > config.body_bytes:
        raise _too_large(config)
    try:
        try:
            async with asyncio.timeout(config.request_seconds):
                body = await read()
        except TimeoutError:
            seconds = config.request_seconds
            raise LimitExceeded("the body came too slowly", limit="serve.request_seconds", value=seconds) from None
        values = values_bytes(body)
        if held + values > budget.most // 2:
            text = f"too many values in one body, about {values // 1_000_000:,} MB of them: put them into a file of the session"
            raise LimitExceeded(text, limit="memory", value=budget.most // 2)
        with budget.holding(values, tenant):
            yield body
    finally:
        budget.give(held, tenant)


def values_bytes(body: bytes) -> int:
    """Bytes that the values of a body take once it is read, at most; what looks like one within a text is counted, too."""
    return LIST * body.count(b"[") + OBJECT * body.count(b"{") + VALUE * body.count(b",")


def _too_large(config: ServeConfig) -> LimitExceeded:
    return LimitExceeded(f"a body has at most {config.body_bytes:,} bytes", limit="serve.body_bytes", value=config.body_bytes)
