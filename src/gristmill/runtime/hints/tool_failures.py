"""Failures of tool calls: names and arguments that do not exist, refusals, servers that failed, plans that wait."""

from gristmill.runtime.hints.failure_class import FailureClass

_FAILED_OR_REFUSED = frozenset({"failed", "refused"})
_TOOL_ERRORS = frozenset(
    {
        "ToolError",
        "ToolFailed",
        "refused.call",
        "not_found.tool",
        "upstream.tool_failed",
        "upstream.timeout",
        "upstream.unavailable",
    }
)
_NAMING_ERRORS = _TOOL_ERRORS | {"TypeError", "AttributeError", "ImportError", "refused.code"}
_NEVER_GUESS = "do not guess names: search_tools finds tools by what they do"

TOOL_FAILURES = (
    FailureClass(
        name="import.mcp_client",
        when="a name is imported from `mcp_client` that it does not have",
        errors=frozenset({"ImportError"}),
        text=r"cannot import name '(?P<name>\w+)' from 'mcp_client'",
        hint='mcp_client has call_mcp_tool("server.tool", {{...}}) and ToolError; simpler: {example_import}',
    ),
    FailureClass(
        name="import.tool_discovery",
        when="a name is imported from `tool_discovery` that it does not have",
        errors=frozenset({"ImportError"}),
        text=r"cannot import name '(?P<name>\w+)' from 'tool_discovery'",
        hint='tool_discovery has search_tools("what you need"), list_servers(), list_tools("server"), describe(["server.tool"])',
    ),
    FailureClass(
        name="import.skill",
        when="a skill is imported that was not saved",
        errors=frozenset({"ImportError", "ToolError"}),
        text=r"there is no skill '(?P<name>[^']+)'",
        hint=(
            "{name} was not saved as a skill: define the function in this program, and skills.save(function) if it is to be kept"
        ),
    ),
    FailureClass(
        name="tool.unknown_server",
        when="a server is named that is not connected",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"there is no server '(?P<server>[^']+)'|there is no tool '(?P<called>[^'.]+)\.",
        needs=("unknown_server",),
        hint="{unknown_server} is not connected; {connected}; " + _NEVER_GUESS,
    ),
    FailureClass(
        name="tool.unknown",
        when="a tool is named that its server does not have",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"(?<![\w.-])(?P<server>[\w.-]{1,64}) has no tool '|there is no tool '(?P<called>[^'.]+)\.",
        needs=("tools_of_server",),
        hint="{tools_of_server}; " + _NEVER_GUESS,
    ),
    FailureClass(
        name="tool.unknown_argument",
        when="an argument is passed that the tool does not take",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}?)(?: has no argument|: [^\n]{0,400}expected no such name)"
            r"|\b(?P<function>\w{1,64})\(\) got an unexpected keyword argument"
        ),
        needs=("signature",),
        hint="call it as {signature}",
    ),
    FailureClass(
        name="tool.missing_argument",
        when="a required argument is missing",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}?)(?: needs \w|: [^\n]{0,400}it is required)"
            r"|\b(?P<function>\w{1,64})\(\) missing \d+ required"
        ),
        needs=("signature",),
        hint="pass every argument that has no default: {signature}",
    ),
    FailureClass(
        name="tool.too_many_arguments",
        when="more arguments are passed by position than the tool has",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}?) takes (?:at most )?\d+ arguments"
            r"|\b(?P<function>\w{1,64})\(\) takes (?:from )?\d+ [\w ]*positional arguments?"
        ),
        needs=("signature",),
        hint="pass arguments by name: {signature}",
    ),
    FailureClass(
        name="tool.argument_twice",
        when="an argument is passed by position and by name",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}?) (?:got|gets) [\w, ]{1,200} twice"
            r"|\b(?P<function>\w{1,64})\(\) got multiple values for"
        ),
        needs=("signature",),
        hint="pass each argument once, by name: {signature}",
    ),
    FailureClass(
        name="tool.argument_value",
        when="the value of an argument does not fit its schema",
        errors=_NAMING_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}?): [^\n]{0,400}(?:is \w+, not \w+|cannot be |expected )",
        needs=("signature",),
        hint="pass values of these types: {signature}",
    ),
    FailureClass(
        name="approval.denied",
        when="a person approved some calls of a plan and not others",
        errors=_TOOL_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"the approver said no",
        hint=(
            "a person refused {declined}. Made: {calls_made}. Do not send refused calls again; tell the user what was "
            "done and what was not"
        ),
    ),
    FailureClass(
        name="approval.waiting",
        when="calls wait for approval",
        status=frozenset({"awaiting_approval"}),
        hint=(
            "made already: {calls_made}; not made: {planned}. Do not send the program again: resume this run when a "
            "person has decided"
        ),
    ),
    FailureClass(
        name="approval.plan_stopped",
        when="a program looks into the result of a call that is not made before it is approved",
        errors=frozenset({"PlanStopped"}),
        hint="a call that waits for approval has no result yet: put it at the end of the program, or do not decide by its result",
    ),
    FailureClass(
        name="tool.not_allowed",
        when="the operator's policy refuses a call",
        errors=_TOOL_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}) (?:is not allowed by|needs approval)",
        hint=(
            "{tool} is refused by the operator's policy, with any arguments: use another tool, or tell the user that it "
            "would have to be allowed"
        ),
    ),
    FailureClass(
        name="tool.flow",
        when="data of one server may not go to another",
        errors=_TOOL_ERRORS,
        status=_FAILED_OR_REFUSED,
        text=r"(?<![\w.-])(?P<tool>[\w-]{1,64}\.[\w.-]{1,128}) was not called: ",
        hint=(
            "{tool} may not get data of that source: call it with values from elsewhere, or leave it out; changing the "
            "text of the value does not help"
        ),
    ),
    FailureClass(
        name="tool.quota",
        when="a quota of calls or bytes is used up",
        status=frozenset({"failed", "limited", "refused"}),
        text=r"has reached (?P<quota>[\w.]+) = [\d,]+; try again in|already runs \d+ calls",
        hint=(
            "the servers are asked too often: make fewer calls (larger pages, no polling in a loop), and try the rest "
            "later with resume"
        ),
    ),
    FailureClass(
        name="tool.timeout",
        when="a server did not answer in time",
        errors=_TOOL_ERRORS,
        text=r"did not (?:answer|return) (?:in time|within)|was not ready within",
        hint=(
            "the server is slow or hangs, and the call may have had its effect: ask for less at once, and look before "
            "you repeat a write"
        ),
    ),
    FailureClass(
        name="tool.unavailable",
        when="a server cannot be reached or wants a login",
        errors=_TOOL_ERRORS,
        text=r"cannot be (?:reached|used|called)|closed the connection|wants a login|is closed|is not ready",
        hint=(
            "this server is not working now, and another program does not change that: tell the user, or use another "
            "server; {connected}"
        ),
    ),
    FailureClass(
        name="session.needed",
        when="`session.kv`, files of a session or skills are used without a session",
        errors=frozenset({"ToolError", "ToolFailed"}),
        text=r"there is no session to keep",
        hint='pass session="new" with this program, then the handle that comes back with the next ones',
    ),
    FailureClass(
        name="tool.failed",
        when="a tool answered that it failed",
        errors=_TOOL_ERRORS,
        status=_FAILED_OR_REFUSED,
        needs=("failed_signature",),
        hint="the text of the error is the server's own: change what is sent, the same call fails again; {failed_signature}",
    ),
)
