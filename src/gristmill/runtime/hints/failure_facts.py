"""Finds what hints say about one failure: what is connected and installed, what was called, where the time went."""

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from gristmill.escape_text import shorten_name
from gristmill.guard.program.repair.javascript import looks_like_javascript
from gristmill.model import Report
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER
from gristmill.runtime.execution.execution_state import ExecutionState, MadeCalls
from gristmill.runtime.hints.failure_class import Failure
from gristmill.runtime.hints.module_names import SUBSTITUTES, name_package
from gristmill.runtime.hints.remembered_programs import CallerMemory
from gristmill.runtime.hints.result_samples import ERROR_FIELDS, ResultSample, change_texts, describe_sample, quote_text
from gristmill.runtime.hints.tool_guide import ToolGuide

MOST_SHAPES, MOST_SHAPE_CHARACTERS = 3, 500
MOST_NAMED = 8
SLOW_PART = 0.3
"""From which part of the time on a tool counts as what took the time."""
_LINE_CHARACTERS = 80
_ERROR_WORDS = re.compile(
    r"\W*(?:error|failed|failure|exception|traceback|not found|invalid|unauthorized|forbidden|no such)\b", re.I
)
_ENDED_AT = re.compile(r"at line (\d+)")
_OWN_MODULES = {
    "search_tools": "from tool_discovery import search_tools",
    "list_servers": "from tool_discovery import list_servers",
    "list_tools": "from tool_discovery import list_tools",
    "describe": "from tool_discovery import describe",
    "call_mcp_tool": "from mcp_client import call_mcp_tool",
    "ToolError": "from mcp_client import ToolError",
    "skills": "import skills",
    "session": "import session",
}
_STANDARD_MODULES = frozenset(
    "asyncio base64 collections copy csv datetime decimal functools hashlib html io itertools json math operator os pathlib "
    "random re shutil sqlite3 statistics string sys tempfile textwrap time traceback typing urllib uuid zipfile zoneinfo".split()
)


class FailureFacts(Struct, frozen=True, kw_only=True):
    """One failure, and everything from which facts about it are found."""

    failure: Failure
    run: ExecutionState
    report: Report
    guide: ToolGuide
    memory: CallerMemory
    installed: tuple[str, ...]
    """The packages that programs may import, beside the standard library."""
    groups: Mapping[str, str]
    """What the patterns of the class found."""
    mask: Callable[[str], str]
    """Masks a text that is shown, where masks are on."""

    def __getitem__(self, name: str) -> str:
        """Returns a group or a fact, for ``format_map``; empty if it is not known."""
        return self.groups.get(name) or (self.find(name) if name in FACTS else None) or ""

    def find(self, name: str) -> str | None:
        """Returns the fact of that name, or None if it is not known."""
        return FACTS[name](self)

    @property
    def made(self) -> Mapping[str, MadeCalls]:
        """Returns the calls of the program, by tool; searches and the like do not count."""
        return {tool: calls for tool, calls in self.run.made.items() if tool.partition(".")[0] != RESERVED_SERVER}

    def get_group(self, *names: str) -> str:
        """Returns the first group of these names that was found."""
        return next((self.groups[name] for name in names if self.groups.get(name)), "")


def list_samples(facts: FailureFacts) -> Iterator[tuple[str, ResultSample]]:
    """Yields the tools of this run that gave a result, with its shape."""
    samples = ((tool, calls.sample) for tool, calls in facts.made.items() if calls.sample is not None)
    return ((tool, change_texts(sample, facts.mask)) for tool, sample in samples)


def _describe_instead(facts: FailureFacts) -> str:
    connected = facts.guide.describe_servers()
    if connected.startswith("no "):
        return "and no tool server is connected that could do it: tell the user"
    return f"call a tool instead, search_tools finds one; {connected}"


def _describe_packages(facts: FailureFacts) -> str:
    if not facts.installed:
        return "there is only Python's standard library"
    more = ", ..." if len(facts.installed) > MOST_NAMED else ""
    return f"beside the standard library there are {', '.join(facts.installed[:MOST_NAMED])}{more}"


def _find_package(facts: FailureFacts) -> str | None:
    module = facts.get_group("module", "named")
    return name_package(module) if module and module.lower() not in {name.lower() for name in facts.installed} else None


def _find_server_module(facts: FailureFacts) -> str | None:
    server = facts.guide.find_server(facts.get_group("module", "named"))
    return facts.guide.catalog.modules[server] if server is not None else None


def _find_unknown_server(facts: FailureFacts) -> str | None:
    name = facts.get_group("server", "called")
    return name if facts.guide.find_server(name) is None and name not in facts.guide.server_names else None


def _describe_tools_of_server(facts: FailureFacts) -> str | None:
    server = facts.guide.find_server(facts.get_group("server", "called"))
    wanted = re.search(r"has no tool '([^']+)'|there is no tool '[^'.]+\.([^']+)'", facts.failure.text)
    return facts.guide.describe_tools_of(server, (wanted[1] or wanted[2]) if wanted else "") if server is not None else None


def _find_signature(facts: FailureFacts) -> str | None:
    tool = facts.guide.find_tool(facts.get_group("tool", "function"))
    return facts.guide.write_signature(tool) if tool is not None else None


def _find_failed_signature(facts: FailureFacts) -> str | None:
    failed = [tool for tool, calls in facts.made.items() if calls.failed]
    tool = facts.guide.find_tool(failed[-1]) if failed else None
    return facts.guide.write_signature(tool) if tool is not None else None


def _describe_shapes(facts: FailureFacts) -> str | None:
    shapes = [f"{tool} returned {describe_sample(sample)}" for tool, sample in list_samples(facts)][:MOST_SHAPES]
    return "; ".join(facts.mask(shape)[:MOST_SHAPE_CHARACTERS] for shape in shapes) or None


def _find_error_answer(facts: FailureFacts) -> str | None:
    for tool, sample in list_samples(facts):
        parts = {**(sample.fields or {})}
        told = next((parts[name] for name in ERROR_FIELDS if name in parts), None)
        if sample.kind == "str" and _ERROR_WORDS.match(sample.text):
            return f"{tool} answered with the text {quote_text(sample)}"
        if told is not None and told.kind == "str" and told.text:
            return f"{tool} answered with the error {quote_text(told)}"
    return None


def _find_reached_line(facts: FailureFacts) -> tuple[int, str] | None:
    """Returns the line at which the program was, and its text."""
    ended = _ENDED_AT.search(facts.report.error or "")
    number = int(ended[1]) if ended else facts.failure.line
    lines = facts.failure.code.split("\n")
    return (
        (number, shorten_name(lines[number - 1].strip(), _LINE_CHARACTERS))
        if number is not None and 0 < number <= len(lines)
        else None
    )


def _describe_place(facts: FailureFacts) -> str:
    found = _find_reached_line(facts)
    return f"at line {found[0]} (`{found[1]}`), " if found else ""


def _find_sleeping_line(facts: FailureFacts) -> str | None:
    found = _find_reached_line(facts)
    return f"{found[0]} (`{found[1]}`)" if found and "sleep(" in found[1] else None


def _find_slow_tool(facts: FailureFacts) -> str | None:
    """Returns the tool whose calls took most of the time, if any did."""
    tool, calls = max(facts.made.items(), key=lambda item: item[1].seconds, default=("", MadeCalls()))
    if calls.seconds < SLOW_PART * facts.report.usage.seconds or not calls.count:
        return None
    return f"{calls.count:,} {'call' if calls.count == 1 else 'calls'} of {tool}"


def _describe_limit(facts: FailureFacts) -> str | None:
    value = getattr(facts.run.execution.limits, facts.failure.limit, None)
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}" if value is not None else None


def _describe_calls(facts: FailureFacts) -> str:
    done = {tool: calls.count - calls.failed for tool, calls in facts.made.items() if calls.count > calls.failed}
    named = [tool if count == 1 else f"{tool} ({count:,} times)" for tool, count in done.items()]
    return ", ".join(named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "") or "nothing"


def _describe_planned(facts: FailureFacts) -> str:
    named = [f"{call.number} {call.tool}" for call in facts.run.planned]
    return ", ".join(named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")


def _describe_declined(facts: FailureFacts) -> str:
    named = [f"call {grant.call.number} ({grant.call.tool})" for grant in facts.run.grants if not grant.allowed]
    return ", ".join(named[:MOST_NAMED]) or "a call"


def _find_import_of_tool(facts: FailureFacts) -> str | None:
    name = facts.get_group("name")
    if (server := facts.guide.find_server(name)) is not None:
        return f"`from servers import {facts.guide.catalog.modules[server]}`"
    tool = facts.guide.find_tool(name)
    return f"`{facts.guide.write_import(tool)}`" if tool is not None else None


def _find_fresh_interpreter(facts: FailureFacts) -> str | None:
    if facts.report.state != "fresh":
        return None
    return facts.run.loss or "its interpreter has just been started"


FACTS: Mapping[str, Callable[[FailureFacts], str | None]] = {
    "connected": lambda facts: facts.guide.describe_servers(),
    "instead": _describe_instead,
    "packages": _describe_packages,
    "package": _find_package,
    "substitute": lambda facts: SUBSTITUTES.get(facts.get_group("module", "named")),
    "server_module": _find_server_module,
    "example_import": lambda facts: facts.guide.find_example_import(),
    "unknown_server": _find_unknown_server,
    "tools_of_server": _describe_tools_of_server,
    "signature": _find_signature,
    "failed_signature": _find_failed_signature,
    "shapes": _describe_shapes,
    "shapes_too": lambda facts: f"; {shapes}" if (shapes := _describe_shapes(facts)) else "",
    "error_answer": _find_error_answer,
    "where": _describe_place,
    "sleeping_line": _find_sleeping_line,
    "slow_tool": _find_slow_tool,
    "value": _describe_limit,
    "calls_made": _describe_calls,
    "planned": _describe_planned,
    "declined": _describe_declined,
    "import_of_tool": _find_import_of_tool,
    "import_of_own": lambda facts: _OWN_MODULES.get(facts.get_group("name")),
    "standard_module": lambda facts: name if (name := facts.get_group("name")) in _STANDARD_MODULES else None,
    "earlier_program": lambda facts: "yes" if facts.memory.made_name(facts.get_group("name")) else None,
    "fresh_interpreter": _find_fresh_interpreter,
    "python_program": lambda facts: None if looks_like_javascript(facts.failure.code) else "yes",
    "left_files": lambda facts: ", ".join(facts.report.left_files) or None,
    "output_cut": lambda facts: "yes" if facts.report.truncated else None,
}
"""Facts by the names that hints use."""
