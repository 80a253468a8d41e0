"""A report as the caller may see it: masked, short, and with the rest of it in the session's workspace."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import msgspec

from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Budget, Report
from gristmill.runtime.execution.execution_state import Run
from gristmill.shaping.shape_report import shape, shape_small
from gristmill.shaping.shaped_report import Shaped
from gristmill.values import dataclass

Save = Callable[[str, bytes], str]
"""Puts a file into a session's workspace; its path as code sees it."""

Place = Callable[[Run, str], Awaitable[Save]]
"""The workspace of the session of that name, made if need be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """What goes back, and the session in which the rest lies."""

    report: Report
    shaped: Shaped
    session: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presenter:
    """Masks and shapes reports as the configuration says, or as an execution asks."""

    config: ShapingConfig
    place: Place
    masks: bool

    async def __call__(self, run: Run, report: Report) -> Presented:
        """Mask, shape, and keep what does not fit."""
        execution = run.execution
        shown = _masked(report, run.redactor) if self.masks and run.redactor is not None else report
        budget = execution.budget or Budget(output_tokens=self.config.output_tokens, result_tokens=self.config.result_tokens)
        strategy = execution.strategy or self.config.strategy
        shaped = shape_small(shown, budget=budget, strategy=strategy, error_tokens=self.config.error_tokens)
        session = execution.session
        if shaped is None:
            # Without a session there is no workspace to keep things in: the execution's own id becomes one.
            session = session or execution.id
            spill = _Spill(await self.place(run, session), execution.id, report)
            shaped = await asyncio.to_thread(
                shape, shown, budget=budget, spill=spill, strategy=strategy, error_tokens=self.config.error_tokens
            )
            session = session if spill.used else execution.session
        return Presented(report=shown, shaped=shaped, session=session)


class _Spill:
    """Keeps a part of a report whole and unmasked: the code that made it may see it, and only code can read it there."""

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


def _masked(report: Report, redactor: Redactor) -> Report:
    return replace(
        report,
        output=redactor.mask_text(report.output) if report.output else "",
        result=redactor.mask(report.result) if report.result is not None else None,
        error=redactor.mask_text(report.error) if report.error else report.error,
        # The class of an exception is named by the code, too.
        error_type=redactor.mask_text(report.error_type) if report.error_type else report.error_type,
    )
