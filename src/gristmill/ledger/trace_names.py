"""Names of the OpenTelemetry conventions for GenAI and MCP. They are in development and will change, so they stand only here."""

OPERATION = "gen_ai.operation.name"
EXECUTE_TOOL = "execute_tool"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
CONVERSATION = "gen_ai.conversation.id"
METHOD = "mcp.method.name"
TOOLS_CALL = "tools/call"
ERROR_TYPE = "error.type"

# Our own names: the conventions have no word for code that calls tools.
EXECUTION = "gristmill.execution.id"
STATUS = "gristmill.execution.status"
ARM = "gristmill.rollout.arm"
SERVER = "gristmill.server"
CODE_TOOL = "execute_code"
EXTENSION = "extension"
"""The conventions' type for a tool that runs on our side."""
EXECUTION_SPAN = f"{EXECUTE_TOOL} {CODE_TOOL}"


def name_call_span(tool: str) -> str:
    """Returns the name of the client's span of a tool call."""
    return f"{TOOLS_CALL} {tool}"
