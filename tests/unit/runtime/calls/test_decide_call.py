"""Which calls leave, which wait in the plan, which are refused, with the rules and the upstream as plain functions."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gristmill.errors import CallRefused
from gristmill.guard.policy.approvals import Grant
from gristmill.model import Decision, Effect, Execution, PlannedCall, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.decide_call import DecideCall
from gristmill.runtime.execution.execution_state import PLANNED, CallKey, ExecutionState, RecordedCall, hash_call

READ = Tool(server="crm", name="find", annotations={"readOnlyHint": True})
WRITE = Tool(server="crm", name="write")
TOOLS = {tool.key: tool for tool in (READ, WRITE)}


def _run(**more: Any) -> ExecutionState:
    return ExecutionState(execution=Execution(id="e1", code=""), root="e1", **more)


def _by_annotation(call: ToolCall, tool: Tool | None) -> Decision:
    return Decision(effect="allow" if tool is READ else "ask", rule="default", read_only=tool is READ)


def _always(effect: Effect) -> Callable[[ToolCall, Tool | None], Decision]:
    return lambda _call, tool: Decision(effect=effect, rule="a rule", read_only=tool is READ)


class Program:
    """Makes calls through the layer, one after another, and remembers which left."""

    def __init__(self, run: ExecutionState, decide: Callable[[ToolCall, Tool | None], Decision] = _by_annotation) -> None:
        self.run, self.left = run, list[tuple[str, Mapping[str, Any]]]()
        self._layer = DecideCall(
            run, TOOLS.__getitem__, decide, lambda call, decision: CallRefused(call.tool, rule=decision.rule)
        )
        self._number = 0

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        self._number += 1

        async def upstream(call: ToolCall) -> ToolResult:
            self.left.append((call.tool, call.arguments))
            return ToolResult(value={"id": len(self.left)})

        return asyncio.run(self._layer(ToolCall(id=self._number, tool=tool, arguments=arguments), upstream))


def _granted(run: ExecutionState, *, allowed: bool = True, only: int | None = None) -> tuple[Grant, ...]:
    return tuple(Grant(call=call, allowed=allowed, approval="ap_1") for call in run.planned if only in (None, call.number))


def test_what_the_rules_allow_leaves() -> None:
    program = Program(_run())
    assert program.call("crm.find", q=1).value == {"id": 1}
    assert program.run.planned == []


def test_what_asks_waits_and_the_program_goes_on() -> None:
    program = Program(_run())
    assert [program.call("crm.write", n=n).planned for n in (1, 2)] == [1, 2]
    assert program.left == []
    assert [(call.number, call.arguments) for call in program.run.planned] == [(1, {"n": 1}), (2, {"n": 2})]
    assert program.run.waits_for_approval


def test_reads_go_on_while_writes_wait() -> None:
    program = Program(_run())
    program.call("crm.write", n=1)
    assert program.call("crm.find", q=1).planned is None


def test_a_read_of_a_planned_result_waits_with_it_and_needs_no_approval() -> None:
    program = Program(_run())
    program.call("crm.write", n=1)
    assert program.call("crm.find", q={PLANNED: [1, "id"]}).planned == 2
    assert (program.run.planned[1].needs_approval, program.left) == (False, [])
    assert program.call("crm.find", q={PLANNED: [9]}).planned is None, "there is no call 9: that is the program's own text"


def test_an_allowed_write_does_not_overtake_one_that_waits() -> None:
    asks_first = iter(["ask", "allow"])
    program = Program(_run(), lambda _call, _tool: Decision(effect=next(asks_first), rule=""))  # pyright: ignore[reportArgumentType]
    program.call("crm.write", n=1)
    assert program.call("crm.write", n=2).planned == 2
    assert [call.needs_approval for call in program.run.planned] == [True, False]


def test_denied_is_refused_and_names_the_rule() -> None:
    program = Program(_run(), _always("deny"))
    with pytest.raises(CallRefused) as refusal:
        program.call("crm.write", n=1)
    assert (refusal.value.rule, program.left) == ("a rule", [])


def test_approved_calls_leave_once_each() -> None:
    rehearsal = Program(_run())
    rehearsal.call("crm.write", n=1)
    program = Program(_run(grants=_granted(rehearsal.run)))
    assert program.call("crm.write", n=1).planned is None
    assert program.call("crm.write", n=1).planned == 1, "the same call a second time was not in the plan"
    assert len(program.left) == 1


def test_a_call_that_differs_from_the_plan_asks_again() -> None:
    rehearsal = Program(_run())
    rehearsal.call("crm.write", n=1)
    program = Program(_run(grants=_granted(rehearsal.run)))
    assert program.call("crm.write", n=2).planned == 1
    assert program.left == []


def test_what_the_approver_refused_is_refused() -> None:
    rehearsal = Program(_run())
    rehearsal.call("crm.write", n=1)
    with pytest.raises(CallRefused):
        Program(_run(grants=_granted(rehearsal.run, allowed=False))).call("crm.write", n=1)


def test_a_deny_rule_beats_an_approval() -> None:
    rehearsal = Program(_run())
    rehearsal.call("crm.write", n=1)
    with pytest.raises(CallRefused):
        Program(_run(grants=_granted(rehearsal.run)), _always("deny")).call("crm.write", n=1)


def test_a_call_that_refers_to_a_planned_result_is_approved_with_what_comes_of_it() -> None:
    rehearsal = Program(_run())
    rehearsal.call("crm.write", n=1)
    rehearsal.call("crm.write", parent={PLANNED: [1, "id"]})
    program = Program(_run(grants=_granted(rehearsal.run)))
    program.call("crm.write", n=1)
    program.run.remember_result(ToolCall(id=1, tool="crm.write", arguments={"n": 1}), {"id": 77})
    assert program.call("crm.write", parent=78).planned == 1, "not what came of call 1"
    program.run.planned.clear()
    assert program.call("crm.write", parent=77).planned is None


def test_a_dry_run_sends_no_write_and_asks_nobody() -> None:
    program = Program(_run(dry_run=True), _always("allow"))
    assert program.call("crm.write", n=1).planned == 1
    assert program.call("crm.find", q=1).planned is None
    assert not program.run.waits_for_approval


@pytest.mark.parametrize("effect", ["allow", "ask"])
def test_a_write_whose_answer_was_lost_asks_before_it_is_repeated(effect: Effect) -> None:
    key = CallKey(hash_call("crm.write", {"n": 1}), 0)
    program = Program(_run(recorded={key: RecordedCall(tool="crm.write", state="sent")}), _always(effect))
    program.call("crm.write", n=1)
    assert [(call.needs_approval, call.was_lost) for call in program.run.planned] == [(True, True)]


def test_an_approval_from_before_it_was_lost_does_not_cover_the_repetition() -> None:
    key = CallKey(hash_call("crm.write", {"n": 1}), 0)
    call = PlannedCall(number=1, tool="crm.write", arguments={"n": 1}, rule="", hash=key.hash)
    before = Grant(call=call, allowed=True, approval="ap_1")
    program = Program(_run(recorded={key: RecordedCall(tool="crm.write", state="sent")}, grants=(before,)))
    assert program.call("crm.write", n=1).planned == 1


def test_a_read_whose_answer_was_lost_is_simply_made_again() -> None:
    key = CallKey(hash_call("crm.find", {"q": 1}), 0)
    program = Program(_run(recorded={key: RecordedCall(tool="crm.find", state="sent")}))
    assert program.call("crm.find", q=1).planned is None
