"""Arguments without a name get theirs: models write ``crm.get(5)``, and only the tool's schema knows what 5 is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gristmill.errors import ToolFailed
from gristmill.model import Handler, Tool, ToolCall, ToolResult

Find = Callable[[str], Tool]
"""A tool by its key; raises ``UnknownTool``."""


@dataclass(frozen=True, slots=True)
class NamePositional:
    """A layer that names positional arguments in the order of the schema's properties."""

    find: Find

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on with every argument named.

        Raises:
            ToolFailed: more arguments than the tool has, or one given twice.
        """
        return await proceed(_named(call, self.find(call.tool)) if call.positional else call)


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
