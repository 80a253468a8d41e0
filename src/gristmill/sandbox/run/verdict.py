"""Decides how a run ended, from what the host saw and, with lower rank, from what the guest reports. Pure functions."""

import re
import signal

from msgspec import Struct

from gristmill.escape_text import shorten_name
from gristmill.model import Limits, Status
from gristmill.sandbox.run.frames import DoneFrame, UnfitReason

GUEST_REPORTED_LIMITS = frozenset(
    ("memory_mb", "processes", "open_files", "workspace_mb", "workspace_files", "file_mb", "result_bytes", "calls", "call_bytes")
)
"""Limits whose effect only the program sees (an errno, a MemoryError); the host itself detects the others."""


UNFIT_REASONS: dict[UnfitReason, str] = {
    "limits": "its last program lowered its own limits for good",
    "output": "its last program closed or replaced its output",
    "folder": "its working directory is gone",
    "descriptors": "its last program left no file descriptor free",
    "interpreter": "its last program changed parts of the interpreter that running a program needs",
}
"""Why a kept session says that it cannot run another program, in words of the host."""

ERROR_CHARACTERS, KIND_CHARACTERS = 40_000, 200
"""How much is kept of an error's text and class name: our guest clips them too, but a hostile one would not."""

_PROGRAM_LINE = re.compile(r'  File "<code \d{1,9}>", line (\d{1,7})')


class ChildExit(Struct, frozen=True, kw_only=True):
    """How a process that runs code ended, as its parent saw it: a negative status is a signal."""

    status: int
    cpu_seconds: float
    rss_bytes: int


class RunEnding(Struct, frozen=True, kw_only=True):
    """Why a run is over: the guest's closing frame, a limit that the host enforced, or a crash."""

    done: DoneFrame | None = None
    limit: str | None = None
    crash: str | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The part of a report that says how the run went."""

    status: Status
    limit: str | None = None
    error: str | None = None
    error_type: str | None = None


def judge_ending(ending: RunEnding, limits: Limits, *, out_of_memory: bool) -> Verdict:
    """Judges an ending. What the host saw outranks the guest's report, which can only turn a failure into the name of a limit."""
    limit = ending.limit
    if limit is None and ending.done is None:
        limit = "memory_mb" if out_of_memory else "cpu_seconds" if "SIGXCPU" in (ending.crash or "") else None
    if limit is not None:
        reached = _name_last_line(ending.done)
        text = f"LimitExceeded: {limit} = {getattr(limits, limit):g} was exceeded and the run was ended{reached}"
        return Verdict(status="limited", limit=limit, error=text, error_type="LimitExceeded")
    if ending.done is None:
        return Verdict(status="crashed", error=f"Crashed: {ending.crash}", error_type="Crashed")
    return _judge_guest_report(ending.done)


def _name_last_line(done: DoneFrame | None) -> str:
    """Returns the line of the program at which it was interrupted, in words; empty if the guest does not say."""
    lines = _PROGRAM_LINE.findall((done.error or "")[-ERROR_CHARACTERS:]) if done is not None else ()
    return f" at line {lines[-1]}" if lines else ""


def _judge_guest_report(done: DoneFrame) -> Verdict:
    hint = done.limit if done.limit in GUEST_REPORTED_LIMITS else None
    if done.error is not None:
        kind = shorten_name(done.error_type, KIND_CHARACTERS) if done.error_type else None
        return Verdict(status="limited" if hint else "failed", limit=hint, error=done.error[:ERROR_CHARACTERS], error_type=kind)
    if hint == "result_bytes":
        return Verdict(status="limited", limit=hint, error=f"LimitExceeded: {done.result}", error_type="LimitExceeded")
    return Verdict(status="ok")


def describe_exit(exit_: ChildExit) -> str:
    """Describes a child's exit in words."""
    number = -exit_.status if exit_.status < 0 else exit_.status - 128 if exit_.status > 128 else 0
    if not number:
        return f"the process left with exit code {exit_.status} before the program's end"
    try:
        return f"the process was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"the process was killed by signal {number}"
