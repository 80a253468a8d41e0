"""Checks arguments before a call leaves: an error says which field, what was given, and what was probably meant.

Arguments that fit after a conversion about which there is no doubt are converted here, before rules and people see the call.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.errors import CallRefused, UnknownTool
from gristmill.model import Handler, Json, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.proper_names import Find


def _return_unchanged(value: Json) -> Json:
    return value


def _ignore_conversion(_call: ToolCall, _changes: Sequence[str]) -> None:
    pass


class CheckArguments(Struct, frozen=True):
    """A layer that checks arguments against the tool's schema; validators are compiled once per definition."""

    find: Find
    checker: SchemaChecker
    unmask_value: Callable[[Json], Json] = _return_unchanged
    """Replaces masks among the arguments by the values they stand for, because the schema describes those."""
    refers_to_planned: Callable[[ToolCall], bool] = lambda _call: False
    """Tells whether planned results are among the arguments: the schema can be checked only once they exist."""
    note_conversion: Callable[[ToolCall, Sequence[str]], None] = _ignore_conversion
    """Receives a call as it was converted, and what was changed in it."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on under the tool's own name, or refuses it.

        Raises:
            CallRefused: the arguments do not fit the schema.
        """
        try:
            tool = self.find(call.tool)
        except UnknownTool:
            # The tool may not be listed yet: this call connects its server, and the server decides.
            return await proceed(call)
        if self.refers_to_planned(call):
            return await proceed(call if call.tool == tool.key else replace(call, tool=tool.key))
        if call.tool != tool.key:
            call = replace(call, tool=tool.key)
        if problems := self.checker.check_arguments(tool, self.unmask_value(call.arguments)):
            fitting = self._convert(call, tool)
            if fitting is None:
                raise CallRefused(f"{tool.key}: {'; '.join(map(str, problems))}", rule="call.arguments")
            call = fitting
        return await proceed(call)

    def _convert(self, call: ToolCall, tool: Tool) -> ToolCall | None:
        """Returns the call with arguments that fit, or None."""
        converted = self.checker.convert_arguments(tool, call.arguments, self.unmask_value)
        if converted is None:
            return None
        fitting = replace(call, arguments=converted.arguments)
        self.note_conversion(fitting, converted.changes)
        return fitting
