"""Repairs the program of an execution that did not parse, so that it can be run again; nothing of it has run before.

A program that parses pays for none of this: only the first character is looked at before it runs.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gristmill.guard.program.program_problems import join_names
from gristmill.guard.program.repair.javascript import explain_javascript, looks_like_javascript
from gristmill.guard.program.repair.repair_program import SHELL_STEP, RepairedProgram, repair_program, unwrap_program
from gristmill.model import Report
from gristmill.runtime.execution.execution_state import ExecutionState

_SYNTAX_ERRORS = frozenset({"SyntaxError", "IndentationError", "TabError"})


def unwrap_code(run: ExecutionState) -> tuple[str, ...]:
    """Takes the program of ``run`` out of JSON or a transcript that would parse as Python; returns what was done."""
    return _use_repaired(run, unwrap_program(run.execution.code))


def repair_code(run: ExecutionState, report: Report) -> tuple[str, ...]:
    """Repairs the program of ``run`` if it did not parse; returns what was done, or nothing if it cannot be repaired."""
    if report.error_type not in _SYNTAX_ERRORS or report.status != "failed":
        return ()
    return _use_repaired(run, repair_program(run.execution.code))


def explain_code(run: ExecutionState, report: Report) -> tuple[str, ...]:
    """Returns what to write instead of a program in another language."""
    if report.error_type in _SYNTAX_ERRORS and looks_like_javascript(run.execution.code):
        return (explain_javascript(run.execution.code),)
    return ()


def describe_repair(steps: tuple[str, ...], list_packages: Callable[[], Sequence[str]]) -> tuple[str, ...]:
    """Returns the advice about a repair, in one sentence; it names the packages there are where code tried to install some."""
    if not steps:
        return ()
    there = ""
    if SHELL_STEP in steps:
        names = list_packages()
        there = f"; there are {join_names(names)}, and" if names else "; there are only"
        there += " Python's own modules"
    return (f"the program was repaired before it ran: {'; '.join(steps)}{there}",)


def _use_repaired(run: ExecutionState, repaired: RepairedProgram | None) -> tuple[str, ...]:
    if repaired is None:
        return ()
    run.execution = replace(run.execution, code=repaired.code)
    return repaired.steps
