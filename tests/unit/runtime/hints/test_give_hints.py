"""Every class of failures has a case with the whole text of its hint, and the hints name only facts that exist."""

from string import Formatter
from typing import Any

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.model import Execution, Report, Usage
from gristmill.runtime.execution.execution_state import ExecutionState, MadeCalls
from gristmill.runtime.hints.failure_class import match_failure, read_failure
from gristmill.runtime.hints.failure_facts import FACTS
from gristmill.runtime.hints.failure_table import DOOR_FAILURES, FAILURES
from gristmill.runtime.hints.give_hints import HintGiver, explain_error
from gristmill.upstream.python_functions import PythonFunctions
from tests.hint_cases import CASES, TOOLS

GIVEN = [case for case in CASES if "report" in case]
ERRORS = [case for case in CASES if "code" in case]
EVERY = (*FAILURES, *DOOR_FAILURES)


def _build_hints(**options: Any) -> HintGiver:
    servers = {key.partition(".")[0] for key in TOOLS}
    listed = [
        tool
        for server in servers
        for tool in PythonFunctions(
            server, {key.partition(".")[2]: f for key, f in TOOLS.items() if key.startswith(f"{server}.")}
        ).tools
    ]
    catalog = Catalog.from_tools(listed)
    options = {"server_names": lambda: tuple(sorted(servers)), "list_packages": tuple, "masks": False, **options}
    return HintGiver(catalog=lambda: catalog, learned=dict, **options)


@pytest.mark.parametrize("case", GIVEN, ids=[case["class"] for case in GIVEN])
def test_a_report_gets_the_hint_of_its_class(case: dict[str, Any]) -> None:
    made = {tool: MadeCalls(**calls) for tool, calls in case.get("made", {}).items()}
    run = ExecutionState(execution=Execution(id="x", code=case["program"]), root="x", made=made)

    hints = _build_hints()(run, Report(usage=Usage(seconds=30.0), **case["report"]))

    assert case["hint"] in hints


@pytest.mark.parametrize("case", ERRORS, ids=[case["class"] for case in ERRORS])
def test_an_error_of_a_door_gets_the_hint_of_its_class(case: dict[str, Any]) -> None:
    assert explain_error(case["code"], case["message"]) == case["hint"]


def test_an_error_of_another_kind_gets_no_hint() -> None:
    assert explain_error("store.unavailable", "the disk is full") is None


def test_every_class_has_a_case() -> None:
    # A person decides in the middle of the run: test_a_partial_approval_says_which_calls_were_made states its text.
    elsewhere = {"approval.denied"}

    assert {known.name for known in EVERY} - elsewhere == {case["class"] for case in CASES}


def test_the_table_is_as_large_as_promised_and_every_name_stands_once() -> None:
    assert len({known.name for known in EVERY}) == len(EVERY) >= 60


@pytest.mark.parametrize("known", EVERY, ids=[known.name for known in EVERY])
def test_a_hint_names_only_groups_and_facts(known: Any) -> None:
    named = {name for _, name, _, _ in Formatter().parse(known.hint) if name}
    groups = {part.partition(">")[0] for pattern in (known.text, known.code) for part in pattern.split("(?P<")[1:]}

    assert named <= groups | FACTS.keys()
    assert set(known.needs) <= FACTS.keys()
    assert len(known.hint) <= 300


def test_the_error_of_a_task_group_is_read_from_its_last_line() -> None:
    error = (
        "  + Exception Group Traceback (most recent call last):\n  |   File \"<code 1>\", line 3, in <module>\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
        "    | Traceback (most recent call last):\n    |   File \"<code 1>\", line 2, in f\n    | KeyError: 'total'\n"
        "    +------------------------------------"
    )  # fmt: skip
    failure = read_failure(Report(status="failed", error=error, error_type="ExceptionGroup"), "", in_session=False)

    assert (failure.error_type, failure.text) == ("KeyError", "KeyError: 'total'")


def test_installed_packages_are_named() -> None:
    run = ExecutionState(execution=Execution(id="x", code="import tensorflow"), root="x")
    error = "ModuleNotFoundError: No module named 'tensorflow'"
    hints = _build_hints(list_packages=lambda: ("numpy", "pandas"))(
        run, Report(status="failed", error=error, error_type="ModuleNotFoundError")
    )

    assert hints[0].startswith("tensorflow is not installed (beside the standard library there are numpy, pandas):")


def test_a_hostile_error_is_compared_in_bounded_time() -> None:
    report = Report(status="failed", error="pam." + "a" * 2_000_000 + ": x", error_type="ToolError")
    failure = read_failure(report, "x", in_session=False)

    assert len(failure.text) <= 2_000
    assert [match_failure(known, failure) for known in FAILURES]
