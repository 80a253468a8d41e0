"""Arguments are checked before a call leaves: the answer says which field, what was given, and what was probably meant."""

from collections.abc import Callable
from dataclasses import replace

from gristmill.catalog.types.schema_checker import Checker
from gristmill.errors import CallRefused, UnknownTool
from gristmill.model import Handler, Json, ToolCall, ToolResult
from gristmill.runtime.calls.proper_names import Find
from gristmill.values import dataclass


def _same(value: Json) -> Json:
    return value


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """A layer that holds arguments against the tool's schema; validators are compiled once per definition."""

    find: Find
    checker: Checker
    reveal: Callable[[Json], Json] = _same
    """Masks among the arguments become what they stand for, since that is what the schema speaks of."""
    refers: Callable[[ToolCall], bool] = lambda _call: False
    """Whether results that are only planned are among the arguments: the schema can be asked once they exist."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on under the tool's own name, or refuse it.

        Raises:
            CallRefused: the arguments do not fit the schema.
        """
        try:
            tool = self.find(call.tool)
        except UnknownTool:
            # Not listed yet, perhaps: the server is connected by this very call, and knows better.
            return await proceed(call)
        if self.refers(call):
            return await proceed(call if call.tool == tool.key else replace(call, tool=tool.key))
        if problems := self.checker.arguments(tool, self.reveal(call.arguments)):
            raise CallRefused(f"{tool.key}: {'; '.join(map(str, problems))}", rule="call.arguments")
        return await proceed(call if call.tool == tool.key else replace(call, tool=tool.key))
