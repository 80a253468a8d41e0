"""What the layers know about a run."""

import hashlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.guard.policy.approvals import Grant
from gristmill.model import Execution, Json, PlannedCall, ToolCall
from gristmill.runtime.execution.execution_state import ExecutionState, hash_call

ARGUMENTS = st.dictionaries(
    st.text(max_size=4),
    st.one_of(
        st.text(max_size=8),
        st.integers(),
        st.floats(),
        st.booleans(),
        st.none(),
        st.lists(st.one_of(st.integers(), st.floats()), max_size=2),
    ),
    max_size=4,
)


@given(ARGUMENTS)
@example({"a": 1e16, "b": "\ud800", "c": 2**70})
@example({"é": '\x01\x7f\u2028"\\/', "e": -1, "E": None})
def test_the_hash_of_a_call_is_that_of_its_sorted_json(arguments: dict[str, Json]) -> None:
    text = json.dumps(["crm.find", arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hash_call("crm.find", arguments) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_grant(reference: Json, result: Json, used: Json) -> Grant | None:
    """Approve a call that refers to an earlier result, then make it with ``used`` in that place."""
    planned = [
        PlannedCall(number=1, tool="crm.make", arguments={}, rule="ask", hash=hash_call("crm.make", {})),
        PlannedCall(
            number=2, tool="crm.send", arguments={"to": reference}, rule="ask", hash=hash_call("crm.send", {"to": reference})
        ),
    ]
    grants = tuple(Grant(call=call, allowed=True, approval="a") for call in planned)
    run = ExecutionState(execution=Execution(id="e", code=""), root="e", grants=grants)
    first = ToolCall(id=1, tool="crm.make", arguments={})
    assert run.find_grant(first) is grants[0]
    run.remember_result(first, result)
    return run.find_grant(ToolCall(id=2, tool="crm.send", arguments={"to": used}))


@pytest.mark.requirement("T85")
def test_an_approval_covers_the_part_of_a_result_that_the_plan_named() -> None:
    assert find_grant({"$planned": [1, "ids", 0]}, {"ids": ["p1", "p2"]}, "p1") is not None
    assert find_grant({"$planned": [1, "ids", 0]}, {"ids": ["p1", "p2"]}, "p2") is None
    assert find_grant({"$planned": [1]}, "text", "text") is not None


@pytest.mark.requirement("T85")
@pytest.mark.parametrize(
    ("reference", "result", "used"),
    [
        ([1, 0], "text", "t"),
        ([1, "name", -1], {"name": "Eve"}, "e"),
        ([1, True], ["a", "b"], "b"),
        ([1, "0"], ["a"], "a"),
        ([1, None], {"null": 1}, 1),
        ([[1]], "text", "text"),
        ([{"a": 1}], "text", "text"),
        (["1"], "text", "text"),
        ([1.0], "text", "text"),
        ([], "text", "text"),
    ],
)
def test_a_path_into_a_text_or_of_other_kinds_names_nothing(reference: Json, result: Json, used: Json) -> None:
    assert find_grant({"$planned": reference}, result, used) is None
