"""Gives hints: what to change in a program that failed, from the table of failures, and more if it failed that way before."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from msgspec.structs import replace

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.model import Report
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.hints.failure_class import Failure, FailureClass, match_failure, read_failure
from gristmill.runtime.hints.failure_facts import FailureFacts, list_samples
from gristmill.runtime.hints.failure_table import DOOR_FAILURES, FAILURES
from gristmill.runtime.hints.remembered_programs import CallerMemory, RememberedPrograms
from gristmill.runtime.hints.tool_guide import ToolGuide

MOST_CHARACTERS = 1_500
"""The longest hint."""
MOST_GUIDES = 2
_NO_GROUPS: Mapping[str, str] = MappingProxyType({})
_OK_CLASSES = tuple(known for known in FAILURES if "ok" in known.status)


class HintGiver:
    """Gives hints about executions; remembers the last programs of each caller for that."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        learned: Callable[[], Mapping[str, LearnedResultType]],
        server_names: Callable[[], tuple[str, ...]],
        list_packages: Callable[[], Sequence[str]],
        *,
        masks: bool,
    ) -> None:
        self._masks = masks
        self._catalog, self._learned, self._server_names, self._list_packages = catalog, learned, server_names, list_packages
        self._programs = RememberedPrograms()

    def __call__(self, run: ExecutionState, report: Report) -> tuple[str, ...]:
        """Returns the hints for an execution that has ended; for most that succeeded there are none."""
        execution = run.execution
        memory = self._programs.of_caller(execution.identity)
        if report.status == "ok":
            hints = self._explain_success(run, report, memory) if _may_need_hint(run, report) else ()
        else:
            hints = self._explain_failure(run, report, memory)
        if execution.session is None:
            memory.note_program(execution.code)
        return hints

    @cached_property
    def _installed(self) -> tuple[str, ...]:
        return tuple(self._list_packages())

    def _explain_success(self, run: ExecutionState, report: Report, memory: CallerMemory) -> tuple[str, ...]:
        facts = self._collect_facts(run, report, memory)
        return tuple(hint for known in _OK_CLASSES if (hint := _write_hint(known, facts)) is not None)

    def _explain_failure(self, run: ExecutionState, report: Report, memory: CallerMemory) -> tuple[str, ...]:
        facts = self._collect_facts(run, report, memory)
        hint = next((hint for known in FAILURES if (hint := _write_hint(known, facts)) is not None), None)
        memory.note_samples(dict(list_samples(facts)))
        hints = [hint] if hint else []
        if report.status in ("failed", "refused"):
            count = memory.note_failure(run.execution.code, f"{report.error_type} {facts.failure.text}")
            hints += _guide_again(facts, count) if count > 1 else []
        return tuple(facts.mask(each)[:MOST_CHARACTERS] for each in hints)

    def _collect_facts(self, run: ExecutionState, report: Report, memory: CallerMemory) -> FailureFacts:
        failure = read_failure(report, run.execution.code, in_session=run.execution.session is not None)
        guide = ToolGuide(self._catalog(), self._learned(), self._server_names())
        return FailureFacts(
            failure=failure,
            run=run,
            report=report,
            guide=guide,
            memory=memory,
            installed=self._installed,
            groups=_NO_GROUPS,
            mask=(lambda text: str(run.mask_value(text))) if self._masks else str,
        )


def explain_error(code: str, message: str) -> str | None:
    """Returns the hint for an error that a door answers without an execution, by its code and its text."""
    failure = Failure(status="error", error_type=code, text=message)
    return next((known.hint for known in DOOR_FAILURES if match_failure(known, failure) is not None), None)


def _may_need_hint(run: ExecutionState, report: Report) -> bool:
    """Tells whether a program that succeeded may need a hint; it costs next to nothing, as every program pays for it."""
    return bool(report.left_files) or report.truncated or "os.system" in run.execution.code


def _write_hint(known: FailureClass, facts: FailureFacts) -> str | None:
    groups = match_failure(known, facts.failure)
    if groups is None:
        return None
    facts = replace(facts, groups=groups)
    return known.hint.format_map(facts) if all(facts.find(name) for name in known.needs) else None


def _guide_again(facts: FailureFacts, count: int) -> list[str]:
    """Returns what to say about a program that has failed in the same way before."""
    called = [tool for name in facts.made if (tool := facts.guide.find_tool(name)) is not None]
    tools = (called or facts.guide.find_named_tools(facts.failure.code, MOST_GUIDES))[:MOST_GUIDES]
    told = f"this program has failed in the same way {count:,} times now: it has to be changed before it is sent again"
    seen = {**facts.memory.samples, **dict(list_samples(facts))}
    return ["\n".join((told, *(facts.guide.write_guide(tool, seen.get(tool.key)) for tool in tools)))]
