"""Shows on a terminal that something is waited for, once that has taken half a second."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gristmill.serve.cli.terminal.safe_output import neutralize_text, stderr

T = TypeVar("T")
PATIENCE_SECONDS = 0.5
"""A shorter wait shows nothing: what appears and vanishes at once only disturbs. It also imports nothing for the terminal."""


async def show_waiting(work: Coroutine[Any, Any, T], describe: Callable[[], str]) -> T:
    """Returns the result of ``work``; after a while a spinner with the words of ``describe`` turns until it is there.

    In a pipe nothing is shown.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not task.done() and (console := stderr()).is_terminal:
            with console.status(neutralize_text(describe())):
                await asyncio.wait({task})
        return await task
    finally:
        task.cancel()
