"""Arguments are checked before a call leaves: the answer says which field, what was given, and what was probably meant."""

from dataclasses import dataclass, field, replace

from gristmill.catalog.validate import Checker
from gristmill.errors import CallRefused, UnknownTool
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.names import Find


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """A layer that holds arguments against the tool's schema; validators are compiled once per definition."""

    find: Find
    checker: Checker = field(default_factory=Checker)

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
        if problems := self.checker.arguments(tool, call.arguments):
            raise CallRefused(f"{tool.key}: {'; '.join(map(str, problems))}", rule="call.arguments")
        return await proceed(call if call.tool == tool.key else replace(call, tool=tool.key))
