"""How the door speaks to the hall: a runtime that may still be opening, and the options that it understands."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from gristmill.errors import Refused
from gristmill.runtime.runtime import Runtime

Hall = Callable[[], Awaitable[Runtime]]
"""The open runtime; waits while it is being opened, raises what kept it from opening."""

_NEEDED = ("resume", "budget")
"""Options that change what the caller gets: to drop one in silence would be a lie."""


def opened(runtime: Runtime) -> Hall:
    """A hall that is open already."""

    async def hall() -> Runtime:
        return runtime

    return hall


def understood(runtime: Runtime, options: dict[str, Any]) -> dict[str, Any]:
    """``options`` without those that are not set, and without those that this runtime does not know.

    Raises:
        Refused: one that the caller asked for is among the latter.
    """
    known = inspect.signature(runtime.execute).parameters
    given = {name: value for name, value in options.items() if value is not None}
    for name in _NEEDED:
        if name in given and name not in known:
            raise Refused(f"{name} is not available here", rule=f"execute.{name}")
    return {name: value for name, value in given.items() if name in known}
