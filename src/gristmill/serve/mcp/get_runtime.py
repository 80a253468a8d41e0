"""How the door finds the hall: a runtime that may still be opening."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the hall takes a third of a second to import: a handshake does not wait for it
    from gristmill.runtime.runtime import Runtime

Hall = Callable[[], Awaitable["Runtime"]]
"""The open runtime; waits while it is being opened, raises what kept it from opening."""


def opened(runtime: "Runtime") -> Hall:
    """A hall that is open already."""

    async def hall() -> "Runtime":
        return runtime

    return hall
