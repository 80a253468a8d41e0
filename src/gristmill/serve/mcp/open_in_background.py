"""Opens the runtime in the background while the first messages are answered: a client waits only for what it asks for."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.harmless_text import neutralize_text
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.server_values import refuse_questions
from gristmill.serve.mcp.get_runtime import Hall

log = logging.getLogger(__name__)

GRACE_SECONDS = 0.1
"""Opening keeps the event loop busy for a while, so it is delayed by this time to answer the handshake first."""

Use = Callable[[Runtime], AbstractAsyncContextManager[None]]
"""Returns what goes on as long as a runtime is open."""


def use_plainly(_runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """Lets nothing else go on."""
    return nullcontext()


@asynccontextmanager
async def open_in_background(config: Config, use: Use = use_plainly) -> AsyncGenerator[Hall]:
    """Yields a ``Hall`` whose runtime is opened, and later closed, in a task of its own; ``use`` is entered while it is open."""
    ready: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
    leaving, needed = asyncio.Event(), asyncio.Event()

    async def own_runtime() -> None:
        await asyncio.wait([asyncio.ensure_future(needed.wait())], timeout=GRACE_SECONDS)
        needed.set()
        try:
            # This tells servers that their questions may be answered; each execution decides by whom.
            async with Runtime.open(config, ask=refuse_questions, serving=True) as runtime, use(runtime):
                ready.set_result(runtime)
                await leaving.wait()
        except Exception as error:  # a door: every error in opening must reach every call that waits for it
            if ready.done():
                raise
            known = error if isinstance(error, Error) else _explain_foreign_error(error)
            print(f"error: {neutralize_text(known.message)}", file=sys.stderr)
            ready.set_exception(known)
            ready.exception()  # marked as read here; every call that needs the runtime raises it again

    async def hall() -> "Runtime":
        needed.set()
        return await asyncio.shield(ready)

    owner = asyncio.create_task(own_runtime())
    try:
        yield hall
    finally:
        leaving.set()
        if not ready.done():
            owner.cancel()
        await asyncio.gather(owner, return_exceptions=True)


def _explain_foreign_error(error: Exception) -> Error:
    log.error("the gateway cannot be opened", exc_info=error)
    return Error(f"the gateway cannot be opened: {type(error).__name__}: {error}; run `gristmill doctor` to see what is wrong")
