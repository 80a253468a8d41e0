"""Masks and shortens a report; the rest is saved to the session's workspace."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.errors import Error, StoreUnavailable
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Budget, Report
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.shaping.shape_report import shape_report, shape_small_report
from gristmill.shaping.shaped_report import ShapedReport

Save = Callable[[str, bytes], str]
"""Saves a file to a session's workspace; returns its path as code sees it."""

Place = Callable[[ExecutionState, str], Awaitable[Save]]
"""Opens the workspace of the session of that name, created if it is missing."""


class PresentedReport(Struct, frozen=True, kw_only=True):
    """What goes back to the caller, and the session that holds the rest."""

    report: Report
    shaped: ShapedReport
    session: str | None


class Presenter(Struct, frozen=True, kw_only=True):
    """Masks and shapes reports as the configuration says, or as an execution asks."""

    config: ShapingConfig
    place: Place
    masks: bool

    async def __call__(self, run: ExecutionState, report: Report) -> PresentedReport:
        """Masks and shapes a report, and saves what does not fit."""
        execution = run.execution
        shown = _mask_report(report, run.redactor) if self.masks and run.redactor is not None else report
        budget = execution.budget or Budget(output_tokens=self.config.output_tokens, result_tokens=self.config.result_tokens)
        strategy = execution.strategy or self.config.strategy
        shaped = shape_small_report(shown, budget=budget, strategy=strategy, error_tokens=self.config.error_tokens)
        session = execution.session
        if shaped is None:
            # Without a session there is no workspace to keep things in: the execution's own id becomes one.
            session = session or execution.id
            spill = _Spill(await self._open_place(run, session), execution.id, report)
            shaped = await asyncio.to_thread(
                shape_report, shown, budget=budget, spill=spill, strategy=strategy, error_tokens=self.config.error_tokens
            )
            session = session if spill.used else execution.session
        return PresentedReport(report=shown, shaped=shaped, session=session)

    async def _open_place(self, run: ExecutionState, session: str) -> Save:
        """Opens the place for what does not fit. If there is none, the outcome says so: it is never lost to a limit."""
        try:
            return await self.place(run, session)
        except StoreUnavailable:
            raise  # the execution cannot be recorded either
        except (Error, OSError) as error:
            return partial(_refuse_to_save, error)


def _refuse_to_save(error: Exception, _path: str, _content: bytes) -> str:
    raise error


class _Spill:
    """Saves a part of a report whole and unmasked, for later code; what is read by other ways is masked (content_masks.py)."""

    def __init__(self, save: Save, execution: str, report: Report) -> None:
        self._save, self._execution, self._report = save, execution, report
        self.used = False

    def __call__(self, name: str, shown: bytes) -> str | None:
        parts = {"result.json": self._report.result, "output.txt": self._report.output, "error.txt": self._report.error}
        part = parts.get(name)
        whole = shown if part is None else part.encode("utf-8", "replace") if name.endswith(".txt") else msgspec.json.encode(part)
        path = self._save(f"results/{self._execution}-{name}", whole)
        self.used = True
        return path


def _mask_report(report: Report, redactor: Redactor) -> Report:
    return replace(
        report,
        output=redactor.mask_text(report.output) if report.output else "",
        result=redactor.mask(report.result) if report.result is not None else None,
        error=redactor.mask_text(report.error) if report.error else report.error,
        # The class of an exception is named by the code, so it may contain secrets too.
        error_type=redactor.mask_text(report.error_type) if report.error_type else report.error_type,
    )
