"""A report as the caller may see it."""

import asyncio
import json
from typing import Any

from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Budget, Execution, Report
from gristmill.runtime.execution.answer.present_report import PresentedReport, Presenter, Save
from gristmill.runtime.execution.execution_state import ExecutionState

MAIL = "ann@example.org"


def presented(report: Report, *, masks: bool = True, **execution: Any) -> tuple[PresentedReport, dict[str, bytes]]:
    saved: dict[str, bytes] = {}

    async def place(_run: ExecutionState, _session: str) -> Save:
        def save(path: str, content: bytes) -> str:
            saved[path] = content
            return f"/workspace/{path}"

        return save

    run = ExecutionState(
        execution=Execution(id="e", code="", **execution), root="e", redactor=Redactor(MaskVault(b"k" * 32), Detector())
    )
    return asyncio.run(Presenter(config=ShapingConfig(), place=place, masks=masks)(run, report)), saved


def test_output_result_error_and_its_class_are_masked() -> None:
    report = Report(status="failed", output=MAIL, result={MAIL: [MAIL]}, error=f"no {MAIL}", error_type=MAIL)
    shown, saved = presented(report)
    assert MAIL not in json.dumps([shown.shaped.output, shown.shaped.result, shown.shaped.error, shown.report.error_type])
    assert (shown.session, saved) == (None, {})


def test_with_masks_off_nothing_is_changed() -> None:
    shown, _ = presented(Report(status="ok", output=MAIL, result=MAIL), masks=False)
    assert (shown.shaped.output, shown.shaped.result) == (MAIL, MAIL)


def test_what_does_not_fit_is_kept_whole_in_a_session_of_its_own() -> None:
    rows = [{"id": n, "mail": f"p{n}@example.org"} for n in range(2_000)]
    shown, saved = presented(Report(status="ok", result=rows), budget=Budget(result_tokens=100))
    assert (shown.session, list(saved)) == ("e", ["results/e-result.json"])
    assert json.loads(saved["results/e-result.json"]) == rows, "only code can read it there"
    assert "p1@example.org" not in json.dumps(shown.shaped.result)


def test_what_does_not_fit_goes_to_the_session_where_there_is_one() -> None:
    shown, _ = presented(Report(status="ok", result=list(range(50_000))), session="ann", budget=Budget(result_tokens=100))
    assert shown.session == "ann"
