"""Reads bodies of requests within limits of size, time and memory, for each tenant and for all."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from starlette.requests import Request

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Busy, LimitExceeded
from gristmill.runtime.open.sandboxes.host_memory import read_available_memory

LEAST_HELD, MOST_HELD, SHARE = 32_000_000, 256_000_000, 8
"""Bodies may take an eighth (``SHARE``) of the memory that this process may use, within the two bounds."""
LIST, OBJECT, VALUE = 80, 200, 64
"""Bytes that a list, an object and one more value take in memory beside their text: two characters of JSON can take 80 bytes."""


def compute_body_budget() -> int:
    """Returns how many bytes the bodies of all tenants may take together."""
    return min(MOST_HELD, max(LEAST_HELD, read_available_memory() // SHARE))


class BodyBudget:
    """Counts the bytes of requests that are held in memory.

    A tenant may hold as much as remains free for all others: half of the budget if it is alone, less if others hold some. So
    there is always room for a new tenant.
    """

    def __init__(self, most: int) -> None:
        self.most, self._held = most, Counter[str]()

    def reserve_bytes(self, size: int, tenant: str) -> None:
        """Reserves ``size`` more bytes for ``tenant``.

        Raises:
            Busy: there is no room.
        """
        if self._held[tenant] + size > self.most - self._held.total() - size:
            text = "you sent too many large requests at once: send fewer, or one after another"
            raise Busy(text, limit="memory", value=self.most, retry_after=2.0)
        self._held[tenant] += size

    @contextmanager
    def hold_bytes(self, size: int, tenant: str) -> Generator[None]:
        """Reserves ``size`` more bytes for ``tenant`` while the context is open.

        Raises:
            Busy: there is no room.
        """
        self.reserve_bytes(size, tenant)
        try:
            yield
        finally:
            self.release_bytes(size, tenant)

    def release_bytes(self, size: int, tenant: str) -> None:
        """Releases ``size`` bytes of ``tenant``."""
        self._held[tenant] -= size
        if not self._held[tenant]:
            del self._held[tenant]


@asynccontextmanager
async def hold_body(request: Request, config: ServeConfig, budget: BodyBudget, tenant: str) -> AsyncGenerator[bytes]:
    """Reads the whole body within its limits of size and time.

    While the context is open, ``budget`` counts the body and an estimate of its parsed values.

    Raises:
        LimitExceeded: the body is too large, or came too slowly.
        Busy: there is no room for it now.
    """
    held = 0

    async def read() -> bytes:
        nonlocal held
        chunks: list[bytes] = []
        async for chunk in request.stream():
            budget.reserve_bytes(len(chunk), tenant)
            held += len(chunk)
            if held > config.body_bytes:
                raise _build_too_large_error(config)
            chunks.append(chunk)
        return b"".join(chunks)

    declared = request.headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit() or int(declared[:20]) > config.body_bytes:
        raise _build_too_large_error(config)
    try:
        try:
            async with asyncio.timeout(config.request_seconds):
                body = await read()
        except TimeoutError:
            seconds = config.request_seconds
            raise LimitExceeded("the body arrived too slowly", limit="serve.request_seconds", value=seconds) from None
        values = estimate_value_bytes(body)
        if held + values > budget.most // 2:
            text = (
                f"the body has too many values, about {values // 1_000_000:,} MB in memory: put them into a file of the session"
            )
            raise LimitExceeded(text, limit="memory", value=budget.most // 2)
        with budget.hold_bytes(values, tenant):
            yield body
    finally:
        budget.release_bytes(held, tenant)


def estimate_value_bytes(body: bytes) -> int:
    """Estimates the bytes that the values of a body take after parsing, as an upper bound: brackets inside texts count too."""
    return LIST * body.count(b"[") + OBJECT * body.count(b"{") + VALUE * body.count(b",")


def _build_too_large_error(config: ServeConfig) -> LimitExceeded:
    return LimitExceeded(
        f"a body may have at most {config.body_bytes:,} bytes", limit="serve.body_bytes", value=config.body_bytes
    )
