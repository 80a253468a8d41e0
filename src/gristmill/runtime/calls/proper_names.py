"""Gives a call its proper names: models write ``crm.get_user(5)``, the server calls it ``get-user`` and the 5 ``number``."""

from collections.abc import Awaitable, Callable

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.catalog.catalog import NAME_CHARACTERS
from gristmill.errors import UnknownTool
from gristmill.model import Handler, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.loose_arguments import name_arguments

Find = Callable[[str], Tool]
"""Returns a tool by its key; raises ``UnknownTool``."""
MOST_HINTS = 20
"""How many unknown names of one execution are compared with all that exist: each comparison keeps every other caller waiting."""


class _HintsGiven(Struct):
    count: int = 0


class UseProperNames(Struct, frozen=True):
    """A layer that spells the tool and its arguments as its server does; positional ones are named in the order of the schema."""

    find: Find
    wait_until_listed: Callable[[str], Awaitable[None]]
    """Waits until the server of a key has been listed, or could not be."""
    is_known: Callable[[str], bool]
    """Returns whether there is a tool of that key, without looking for near names."""
    is_listed: Callable[[str], bool] = lambda _key: True
    """Whether a definition comes from its server in this process: a remembered one may be out of date."""
    hints: _HintsGiven = field(default_factory=_HintsGiven)

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on with every name as the server knows it.

        Raises:
            UnknownTool: no server has such a tool.
            UpstreamUnavailable: its server could not be asked for its tools.
            ToolFailed: there are more arguments than the tool has, or one was given twice.
        """
        if not self.is_known(call.tool):
            # An approver cannot judge an unknown tool, so its server, which this call connects, is listed first.
            await self.wait_until_listed(call.tool)
            self._limit_hints(call.tool)
        tool = self.find(call.tool)
        if not self.is_listed(tool.key):
            await self.wait_until_listed(tool.key)
            tool = self.find(call.tool)
        if tool.key != call.tool:
            call = replace(call, tool=tool.key)
        return await proceed(name_arguments(call, tool))

    def _limit_hints(self, key: str) -> None:
        if self.is_known(key):
            return
        self.hints.count += 1
        if self.hints.count > MOST_HINTS:
            raise UnknownTool(f"there is no tool {key[:NAME_CHARACTERS]!r}; search_tools finds those there are")
