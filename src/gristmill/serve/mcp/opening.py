"""A runtime that opens while the first messages are already answered: a client waits for nothing it has not asked for."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gristmill.config import Config
from gristmill.errors import Error
from gristmill.runtime.runtime import Runtime
from gristmill.serve.harmless import harmless
from gristmill.serve.mcp.hall import Hall


@asynccontextmanager
async def opening(config: Config) -> AsyncGenerator[Hall]:
    """A hall whose runtime is being opened in a task of its own, which also closes it."""
    ready: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
    leaving = asyncio.Event()

    async def own() -> None:
        try:
            async with Runtime.open(config) as runtime:
                ready.set_result(runtime)
                await leaving.wait()
        except Error as error:
            if ready.done():
                raise
            print(f"error: {harmless(error.message)}", file=sys.stderr)
            ready.set_exception(error)
            ready.exception()  # seen here; every call that needs the runtime gets it again

    owner = asyncio.create_task(own())
    try:
        yield lambda: asyncio.shield(ready)
    finally:
        leaving.set()
        if not ready.done():
            owner.cancel()
        await asyncio.gather(owner, return_exceptions=True)
