"""The definitions of the tools that a model sees: two, and a third if direct calls are configured.

They stay the same while a door is open, so that prompt caches stay valid: the example names a tool that was known at the start.
Only servers that are added to or removed from the configuration are told in the description of ``search_tools``.

With the instructions they cost at most 400 tokens (o200k); ``tests/unit/serve/mcp/tools/test_tool_surface.py`` counts them.
"""

from mcp_types import Tool, ToolAnnotations, ToolExecution

SEARCH, EXECUTE, CALL = "search_tools", "execute_code", "call_tool"
NEW_SESSION = "new"
"""The value of ``session`` that opens a new session."""
BRANCH_PREFIX = "fork:"
"""What stands before a handle to branch that session."""

LONGEST_RESULT_CHARS = 100_000
"""The limit that we tell clients which cut long results; our token budget keeps results far below it."""

_META = {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": LONGEST_RESULT_CHARS}
_ANY_OBJECT = {"type": "object"}

_SEARCH_TOOL = Tool(
    name=SEARCH,
    description=(
        "Find tools of the connected servers: imports and typed signatures for execute_code. "
        "Search before you use a tool you have not seen."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "detail_level": {"enum": ["name_only", "with_description", "full"]},
            "limit": {"type": "integer"},
            "server": {"type": "string"},
        },
        "required": ["query"],
    },
    output_schema=_ANY_OBJECT,
    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    _meta={**_META, "anthropic/searchHint": "find tools of all connected MCP servers"},
)

_EXECUTE_TOOL = Tool(
    name=EXECUTE,
    input_schema={
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "session": {
                "type": "string",
                "description": '"new", then the handle returned: keeps variables and files; "fork:HANDLE" branches',
            },
            "resume": {"type": "string", "description": "id of a run: wait for it, or redo it without repeating its calls"},
            "background": {"type": "boolean", "description": "return an id at once"},
            "timeout": {"type": "number"},
            "budget": {"type": "integer", "description": "tokens returned"},
        },
    },
    output_schema=_ANY_OBJECT,
    annotations=ToolAnnotations(destructive_hint=True, open_world_hint=True),
    execution=ToolExecution(task_support="optional"),
    _meta={**_META, "anthropic/searchHint": "run Python that calls tools of all connected MCP servers"},
)


def build_tools(example: str | None = None, *, masks: bool = False, news: str = "") -> tuple[Tool, ...]:
    """Returns the two tools; ``example`` is the import of a tool that is connected, ``masks`` whether values are masked, ``news``
    what has changed about the servers since the start."""
    tools = f"; tools are functions: `{example}`" if example else ""
    masked = " `<EMAIL_x>` is a masked value: use it as is." if masks else ""
    text = (
        f"Run Python in a sandbox without network{tools}. Loop, join and filter in one program. "
        f"Prints and the last expression come back: keep them short, write data to files.{masked}"
    )
    search = _SEARCH_TOOL.model_copy(update={"description": f"{_SEARCH_TOOL.description}{news}"}) if news else _SEARCH_TOOL
    return search, _EXECUTE_TOOL.model_copy(update={"description": text})


TOOLS = build_tools("from servers.SERVER import tool")
"""The tools where no server is known."""

DIRECT_CALL_TOOL = Tool(
    name=CALL,
    description="Call one tool without a program. For a single call with a small answer; otherwise use execute_code.",
    input_schema={
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": "server.tool"},
            "arguments": {"type": "object"},
            "session": {"type": "string"},
        },
        "required": ["tool"],
    },
    output_schema=_ANY_OBJECT,
    annotations=ToolAnnotations(destructive_hint=True, open_world_hint=True),
    _meta={**_META, "anthropic/searchHint": "call one tool of a connected MCP server"},
)
"""Offered with `serve.direct_calls` only."""
