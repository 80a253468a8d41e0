"""What a planned write would change, as a diff: where its server can show what is there now and the rules let us ask.

Best effort, within a time limit: a plan without a diff is a plan all the same.
"""

import asyncio
import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from gristmill.errors import Error
from gristmill.model import Decision, Handler, Json, PlannedCall, Tool, ToolCall
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.recording.recorder import ExecutionRecord, Record
from gristmill.runtime.tools.tool_library import Library
from gristmill.values import dataclass

SECONDS = 3.0
"""For all diffs of a plan together."""
MOST = 20
"""Diffs in one plan."""
CHARACTERS, LINES, SHOWN = 200_000, 2_000, 4_000
"""How long a text may be to be compared, and how much of its diff is shown."""

PATHS = ("path", "file_path", "filepath", "filename", "file")
CONTENTS = ("content", "contents", "text", "new_content", "file_text")
READERS = ("read_text_file", "read_file", "get_file_contents", "get_file", "view_file", "cat")

DecideCall = Callable[[ToolCall, Tool | None], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Puts diffs into plans."""

    upstreams: Handler
    library: Library
    decide: DecideCall

    async def __call__(self, run: Run, record: ExecutionRecord) -> None:
        """Add what can be had to the plan of ``run``; reading is on record like any call."""
        try:
            async with asyncio.timeout(SECONDS):
                for place, call in enumerate(run.planned[:MOST]):
                    if (diff := await self._of(run, record, call)) is not None:
                        run.planned[place] = replace(call, diff=diff)
        except TimeoutError:
            pass  # what was had by then is in the plan

    async def _of(self, run: Run, record: ExecutionRecord, call: PlannedCall) -> str | None:
        path, content = _text_in(call.arguments, PATHS), _text_in(call.arguments, CONTENTS)
        reader = self._reader(call.tool.partition(".")[0]) if path and content else None
        if path is None or content is None or reader is None:
            return None
        now = await self._now(run, record, _read(run, call, reader, path))
        if now is None:
            return None
        # Masked before they are compared: a sign at the beginning of a line would change what is found in it.
        shown = (str(run.show(now)), str(run.show(run.reveal(call.arguments[content]))))
        return await asyncio.to_thread(_diff, *shown, str(call.arguments[path]))

    async def _now(self, run: Run, record: ExecutionRecord, read: ToolCall) -> str | None:
        """What is there now, if whoever wrote the rules lets the code see it anyway."""
        decision = run.decisions[read.id] = self.decide(read, self.library.find(read.tool))
        if decision.effect != "allow" or not decision.read_only:
            return None
        try:
            result = await Record(record)(read, self.upstreams)
        except Error:
            return None
        return None if result.is_error else _text(result.value)

    def _reader(self, server: str) -> Tool | None:
        found = {tool.name: tool for tool in self.library.catalog.of_server(server)}
        return next((found[name] for name in READERS if name in found and _path_of(found[name])), None)


def _read(run: Run, call: PlannedCall, reader: Tool, path: str) -> ToolCall:
    execution = run.execution
    arguments = {_path_of(reader) or path: run.reveal(call.arguments[path])}
    return ToolCall(
        id=-call.number, tool=reader.key, arguments=arguments, execution=execution.id, session=execution.session,
        caller=execution.caller, tenant=execution.tenant,
    )  # fmt: skip


def _path_of(reader: Tool) -> str | None:
    """The one thing that a reader must be told."""
    required = cast("list[str]", reader.input_schema.get("required") or [])
    return required[0] if len(required) == 1 and required[0] in PATHS else None


def _text_in(arguments: Mapping[str, Json], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(arguments.get(name), str)), None)


def _text(value: Json) -> str | None:
    if isinstance(value, dict):
        value = next((cast("dict[str, Json]", value)[name] for name in CONTENTS if name in value), None)
    return value if isinstance(value, str) else None


def _diff(now: str, then: str, path: str) -> str | None:
    """A unified diff, cut where it is long; nothing where the texts are too large to compare."""
    if max(len(now), len(then)) > CHARACTERS:
        return None
    before, after = now.splitlines(), then.splitlines()
    if max(len(before), len(after)) > LINES:
        return None
    text = "\n".join(difflib.unified_diff(before, after, path, path, lineterm=""))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n... ({len(text) - SHOWN:,} characters more)"
