"""Gives a program the values that its author wrote in the form in which results reach it, so that it can compare them."""

from collections.abc import Mapping
from typing import Literal

from gristmill.guard.mask.program_literals import mask_literals, unmask_literals
from gristmill.model import Json
from gristmill.runtime.execution.execution_state import ExecutionState


def fit_literals(run: ExecutionState, mode: Literal["off", "output", "full"]) -> str:
    """Returns the code of a run: with placeholders in its literals if results are masked, with real values if they are not."""
    code, redactor = run.execution.code, run.redactor
    if redactor is None or mode == "off":
        return code
    return mask_literals(code, redactor) if mode == "full" else unmask_literals(code, redactor)


def fit_context(run: ExecutionState, mode: Literal["off", "output", "full"]) -> Mapping[str, Json]:
    """Returns the context of a run; masked if results are, because no real value enters the sandbox then."""
    context = run.execution.context
    return run.redactor.mask(dict(context)) if mode == "full" and context and run.redactor is not None else context
