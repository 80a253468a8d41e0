"""How a run ended, decided from what the host saw and, below that, from what the guest says. Pure."""

import signal

from gristmill.model import Limits, Status
from gristmill.sandbox.pool.template_process import Exit
from gristmill.sandbox.run.frames import Done
from gristmill.values import dataclass

HINTS = frozenset(
    ("memory_mb", "processes", "open_files", "workspace_mb", "workspace_files", "file_mb", "result_bytes", "calls", "call_bytes")
)
"""Limits whose effect only the program sees (an errno, a MemoryError); the others are the host's own findings."""


ERROR_CHARACTERS, KIND_CHARACTERS = 40_000, 200
"""What is kept of an error's text and class name: the guest clips them too, but need not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is over: the guest's closing frame, a limit that the host enforced, or a crash."""

    done: Done | None = None
    limit: str | None = None
    crash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The part of a report that says how it went."""

    status: Status
    limit: str | None = None
    error: str | None = None
    error_type: str | None = None


def judge(ending: Ending, limits: Limits, *, out_of_memory: bool) -> Verdict:
    """What the host saw outranks what the guest says; a guest's word can only turn a failure into a limit's name."""
    limit = ending.limit
    if limit is None and ending.done is None:
        limit = "memory_mb" if out_of_memory else "cpu_seconds" if "SIGXCPU" in (ending.crash or "") else None
    if limit is not None:
        text = f"LimitExceeded: {limit} = {getattr(limits, limit):g} was exceeded and the run was ended"
        return Verdict(status="limited", limit=limit, error=text, error_type="LimitExceeded")
    if ending.done is None:
        return Verdict(status="crashed", error=f"Crashed: {ending.crash}", error_type="Crashed")
    return _guest_verdict(ending.done)


def _guest_verdict(done: Done) -> Verdict:
    hint = done.limit if done.limit in HINTS else None
    if done.error is not None:
        kind = done.error_type[:KIND_CHARACTERS] if done.error_type else None
        return Verdict(status="limited" if hint else "failed", limit=hint, error=done.error[:ERROR_CHARACTERS], error_type=kind)
    if hint == "result_bytes":
        return Verdict(status="limited", limit=hint, error=f"LimitExceeded: {done.result}", error_type="LimitExceeded")
    return Verdict(status="ok")


def how(exit_: Exit) -> str:
    """A child's end in words."""
    number = -exit_.status if exit_.status < 0 else exit_.status - 128 if exit_.status > 128 else 0
    if not number:
        return f"the process left with exit code {exit_.status} before the program's end"
    try:
        return f"the process was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"the process was killed by signal {number}"
