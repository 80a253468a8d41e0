"""Shows what a planned write would change, as a diff, where its server can show the current text and the rules allow reading.

This is best effort within a time limit: a plan without a diff is still a valid plan.
"""

import asyncio
import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from msgspec import Struct

from gristmill.errors import Error
from gristmill.model import Handler, Json, PlannedCall, Tool, ToolCall
from gristmill.runtime.calls.decide_call import DecideByRules
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.recording.recorder import ExecutionRecorder, RecordCalls
from gristmill.runtime.tools.tool_library import ToolLibrary

DIFFS_SECONDS = 3.0
"""Time limit for all diffs of a plan together."""
MOST_DIFFS = 20
"""Most diffs in one plan."""
CHARACTERS, LINES, SHOWN = 200_000, 2_000, 4_000
"""How long a text may be (in characters and lines) to be compared, and how many characters of its diff are shown."""

PATHS = ("path", "file_path", "filepath", "filename", "file")
CONTENTS = ("content", "contents", "text", "new_content", "file_text")
READERS = ("read_text_file", "read_file", "get_file_contents", "get_file", "view_file", "cat")


class PlanDifferences(Struct, frozen=True, kw_only=True):
    """Adds diffs to plans."""

    upstreams: Handler
    library: ToolLibrary
    decide: DecideByRules

    async def __call__(self, run: ExecutionState, record: ExecutionRecorder) -> None:
        """Adds the diffs that can be made to the plan of ``run``; reading is recorded like any call."""
        try:
            async with asyncio.timeout(DIFFS_SECONDS):
                for place, call in enumerate(run.planned[:MOST_DIFFS]):
                    if (diff := await self._compute_diff(run, record, call)) is not None:
                        run.planned[place] = replace(call, diff=diff)
        except TimeoutError:
            pass  # the diffs made so far are in the plan

    async def _compute_diff(self, run: ExecutionState, record: ExecutionRecorder, call: PlannedCall) -> str | None:
        path, content = _find_text_argument(call.arguments, PATHS), _find_text_argument(call.arguments, CONTENTS)
        reader = self._find_reader(call.tool.partition(".")[0]) if path and content else None
        if path is None or content is None or reader is None:
            return None
        now = await self._read_current(run, record, _build_read_call(run, call, reader, path))
        if now is None:
            return None
        # Masked before they are compared: the sign at the beginning of a diff line would change what the detector finds in it.
        shown = (str(run.mask_value(now)), str(run.mask_value(run.unmask_value(call.arguments[content]))))
        return await asyncio.to_thread(_format_diff, *shown, str(call.arguments[path]))

    async def _read_current(self, run: ExecutionState, record: ExecutionRecorder, read: ToolCall) -> str | None:
        """Reads the current text, if the rules would let the code read it without asking."""
        decision = run.decisions[read.id] = self.decide(read, self.library.find(read.tool))
        if decision.effect != "allow" or not decision.read_only:
            return None
        try:
            result = await RecordCalls(record)(read, self.upstreams)
        except Error:
            return None
        return None if result.is_error else _extract_text(result.value)

    def _find_reader(self, server: str) -> Tool | None:
        found = {tool.name: tool for tool in self.library.catalog.tools_of_server(server)}
        return next((found[name] for name in READERS if name in found and _find_path_parameter(found[name])), None)


def _build_read_call(run: ExecutionState, call: PlannedCall, reader: Tool, path: str) -> ToolCall:
    execution = run.execution
    arguments = {_find_path_parameter(reader) or path: run.unmask_value(call.arguments[path])}
    return ToolCall(
        id=-call.number, tool=reader.key, arguments=arguments, execution=execution.id, session=execution.session,
        identity=execution.identity,
    )  # fmt: skip


def _find_path_parameter(reader: Tool) -> str | None:
    """Returns the only required parameter of a reader, if it is a path."""
    required = cast("list[str]", reader.input_schema.get("required") or [])
    return required[0] if len(required) == 1 and required[0] in PATHS else None


def _find_text_argument(arguments: Mapping[str, Json], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(arguments.get(name), str)), None)


def _extract_text(value: Json) -> str | None:
    if isinstance(value, dict):
        value = next((cast("dict[str, Json]", value)[name] for name in CONTENTS if name in value), None)
    return value if isinstance(value, str) else None


def _format_diff(now: str, then: str, path: str) -> str | None:
    """Returns a unified diff, cut where it is long; None where the texts are too large to compare."""
    if max(len(now), len(then)) > CHARACTERS:
        return None
    before, after = now.splitlines(), then.splitlines()
    if max(len(before), len(after)) > LINES:
        return None
    text = "\n".join(difflib.unified_diff(before, after, path, path, lineterm=""))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n... ({len(text) - SHOWN:,} characters more)"
