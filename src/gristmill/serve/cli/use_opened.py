"""Opens only the part of the gateway that a verb uses, and closes it again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar

from gristmill.config.tree import Config, load_config

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def use_opened(
    opener: Callable[[Config], AbstractAsyncContextManager[Part]], config: Path | None, work: Callable[[Part], Awaitable[Answer]]
) -> Answer:
    """Returns the result of ``work`` on what ``opener`` opens for the configuration in the file ``config``."""

    async def open_and_work() -> Answer:
        async with opener(load_config(config)) as part:
            return await work(part)

    return asyncio.run(open_and_work())
