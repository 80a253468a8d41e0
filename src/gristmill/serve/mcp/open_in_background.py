"""A runtime that opens while the first messages are already answered: a client waits for nothing it has not asked for."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.serve.harmless_text import harmless
from gristmill.serve.mcp.get_runtime import Hall

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

GRACE_SECONDS = 0.1
"""Opening keeps the event loop busy for a while: a handshake that is on its way goes first."""


@asynccontextmanager
async def opening(config: Config) -> AsyncGenerator[Hall]:
    """A hall whose runtime is being opened in a task of its own, which also closes it."""
    ready: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
    leaving, needed = asyncio.Event(), asyncio.Event()

    async def own() -> None:
        await asyncio.wait([asyncio.ensure_future(needed.wait())], timeout=GRACE_SECONDS)
        needed.set()
        from gristmill.runtime.runtime import Runtime
        from gristmill.upstream.execution_callers import refuse_questions

        try:
            # Servers are told that somebody may answer their questions; who does is known for each execution.
            async with Runtime.open(config, ask=refuse_questions, serving=True) as runtime:
                ready.set_result(runtime)
                await leaving.wait()
        except Error as error:
            if ready.done():
                raise
            print(f"error: {harmless(error.message)}", file=sys.stderr)
            ready.set_exception(error)
            ready.exception()  # seen here; every call that needs the runtime gets it again

    async def hall() -> "Runtime":
        needed.set()
        return await asyncio.shield(ready)

    owner = asyncio.create_task(own())
    try:
        yield hall
    finally:
        leaving.set()
        if not ready.done():
            owner.cancel()
        await asyncio.gather(owner, return_exceptions=True)
