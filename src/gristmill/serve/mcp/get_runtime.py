"""How the MCP door gets the runtime, which may still be opening."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the runtime takes a third of a second to import: the handshake must not wait for it
    from gristmill.runtime.runtime import Runtime

Hall = Callable[[], Awaitable["Runtime"]]
"""Returns the open runtime; waits while it is being opened, and raises the error if opening failed."""


def wrap_runtime(runtime: "Runtime") -> Hall:
    """Returns a ``Hall`` for a runtime that is open already."""

    async def hall() -> "Runtime":
        return runtime

    return hall
