"""Takes the answers that a client sends to the open questions of a run."""

from collections.abc import Mapping

from mcp_types import ElicitResult
from pydantic import ValidationError

from gristmill.runs.active_run import ActiveRun


def take_answers(run: ActiveRun, given: Mapping[str, object]) -> None:
    """Takes the answers by the keys of open questions; other keys are ignored, an invalid answer counts as no."""
    for question in run.questions.list():
        if given.get(question.key) is None:
            continue
        try:
            result = ElicitResult.model_validate(given[question.key], by_name=False)
        except ValidationError:
            result = ElicitResult(action="cancel")
        run.questions.answer(question, result)
