"""Whether executions can be taken: there must be sandboxes, and a store to keep what they did."""

import asyncio

from gristmill.errors import StoreUnavailable
from gristmill.runtime.rooms import Rooms

STORE_SECONDS = 2.0


async def problem_of(rooms: Rooms) -> str | None:
    """Why they cannot be, or None."""
    if rooms.pool.problem is not None:
        return f"no sandbox can be had: {rooms.pool.problem}"
    try:
        async with asyncio.timeout(STORE_SECONDS):
            await rooms.desk.store.read("SELECT 1")
    except StoreUnavailable as error:
        return error.message
    except TimeoutError:
        return f"the store did not answer within {STORE_SECONDS:g} s"
    return None
