"""A call gets its proper names: models write ``crm.get_user(5)``, the server calls it ``get-user`` and the 5 ``number``."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from gristmill.errors import ToolFailed, UnknownTool
from gristmill.model import Handler, Tool, ToolCall, ToolResult
from gristmill.values import dataclass

Find = Callable[[str], Tool]
"""A tool by its key; raises ``UnknownTool``."""


@dataclass(frozen=True, slots=True)
class ProperNames:
    """A layer that spells the tool as its server does, and names positional arguments in the order of the schema."""

    find: Find
    listed: Callable[[str], Awaitable[None]]
    """Returns when the server of a key has been listed, or could not be."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on with every name as the server knows it.

        Raises:
            UnknownTool: no server has such a tool.
            UpstreamUnavailable: its server could not be asked what it has.
            ToolFailed: more arguments than the tool has, or one given twice.
        """
        try:
            tool = self.find(call.tool)
        except UnknownTool:
            # Nobody can be asked about a tool that is not known: its server, connected by this very call, is asked first.
            await self.listed(call.tool)
            tool = self.find(call.tool)
        if tool.key != call.tool:
            call = replace(call, tool=tool.key)
        return await proceed(_named(call, tool) if call.positional else call)


def _named(call: ToolCall, tool: Tool) -> ToolCall:
    names = _order(tool.input_schema)
    if len(call.positional) > len(names):
        raise ToolFailed(f"{call.tool} takes at most {len(names)} arguments ({', '.join(names)}), not {len(call.positional)}")
    given = dict(zip(names, call.positional, strict=False))
    if twice := given.keys() & call.arguments.keys():
        raise ToolFailed(f"{call.tool} got {', '.join(sorted(twice))} twice, by position and by name")
    return replace(call, arguments={**given, **call.arguments}, positional=())


def _order(schema: Mapping[str, object]) -> list[str]:
    """Required parameters first, as in the typed modules, each group in the order of the schema."""
    properties, required = schema.get("properties"), schema.get("required")
    names = [str(name) for name in properties] if isinstance(properties, Mapping) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    needed = {str(name) for name in required} if isinstance(required, Sequence) else set[str]()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return sorted(names, key=lambda name: name not in needed)
