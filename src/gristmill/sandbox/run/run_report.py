"""Builds the report of a run that has ended, from what the host measured and, with lower rank, from what the guest reports."""

from msgspec import Struct

from gristmill.escape_text import shorten_name
from gristmill.model import ContentPart, Isolation, Report, State, Usage
from gristmill.sandbox.run import frames as bridge
from gristmill.sandbox.run.captured_output import KeptOutput
from gristmill.sandbox.run.jail_run import JailRun
from gristmill.sandbox.run.verdict import RunEnding, judge_ending

MOST_LEFT_FILES, NAME_CHARACTERS = 3, 60
"""How many of the files that a program left are named, and how much of each name."""
ENGINE_REPORT, ENGINE_MEMORY_END = "<--- Last few GCs --->", "# Fatal JavaScript out of memory"
"""How the report begins that V8 writes when its heap is full, and what it says. A program that prints it harms itself."""


class RunFindings(Struct, frozen=True, kw_only=True):
    """What the host measured of a run that has ended."""

    isolation: Isolation
    state: State
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    out_of_memory: bool


def build_report(run: JailRun, ending: RunEnding, kept: KeptOutput, found: RunFindings) -> Report:
    """Builds the report of a run whose output was read to its end."""
    output, truncated = kept.text()
    output, engine_out_of_memory = _cut_engine_report(output) if ending.done is None else (output, False)
    verdict = judge_ending(ending, run.job.limits, out_of_memory=found.out_of_memory or engine_out_of_memory)
    return Report(
        status=verdict.status,
        output=output,
        truncated=truncated,
        result=ending.done.result if ending.done and verdict.status == "ok" else None,
        error=verdict.error,
        error_type=verdict.error_type,
        limit=verdict.limit,
        usage=Usage(
            seconds=found.seconds,
            cpu_seconds=found.cpu_seconds,
            memory_mb=round(max(0, found.peak_bytes) / (1 << 20), 2),
            calls=run.calls.count,
            call_bytes=run.calls.bytes,
        ),
        tools_called=tuple(run.calls.tools),
        isolation=found.isolation,
        state=found.state,
        notes=tuple(dict.fromkeys(ending.done.notes)) if ending.done else (),
        left_files=_list_left_files(ending.done) if ending.done and verdict.status == "ok" else (),
        content=tuple(map(_read_shown, ending.done.shown)) if ending.done else (),
    )


def _list_left_files(done: bridge.DoneFrame) -> tuple[str, ...]:
    return tuple(shorten_name(name, NAME_CHARACTERS) for name in done.left_files[:MOST_LEFT_FILES])


def _read_shown(shown: bridge.ShownFrame) -> ContentPart:
    return ContentPart(type="table" if shown.mime == "text/html" else "image", mime_type=shown.mime, data=shown.text)


def _cut_engine_report(output: str) -> tuple[str, bool]:
    """Returns the output without the report that V8 writes before it ends itself for lack of memory, and whether there is one."""
    if ENGINE_MEMORY_END not in output:
        return output, False
    text, _, _ = output.partition(ENGINE_REPORT if ENGINE_REPORT in output else ENGINE_MEMORY_END)
    return text.rstrip("\n#") + "\n" if text.strip("\n#") else "", True
