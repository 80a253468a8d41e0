"""A function of the application approves harmless calls; all others, and all that it fails on, wait for a person."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.guard.policy.policy import Policy
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter
from gristmill.model import Decision, Tool, ToolCall
from gristmill.runtime.calls.review_calls import CallReviews
from gristmill.runtime.runtime import Runtime

PAY = "from servers import bank\nbank.pay(to='ann@example.org', amount={})"
DECIDED = Decision(effect="ask", rule="policy.ask")


def approve_small(call: ToolCall, _tool: Tool) -> str | None:
    assert call.arguments["to"] == "ann@example.org", "it sees real values"
    return "small\namount" if call.arguments["amount"] <= 10 else None


async def list_calls(runtime: Runtime, execution: str) -> list[AuditEntry]:
    await runtime.audit.flush()
    return list(await runtime.audit.list(AuditFilter(kind="call", parent=execution)))


def test_a_reviewer_approves_what_it_may_and_the_audit_says_so(tmp_path: Path) -> None:
    paid: list[int] = []

    def pay(to: str, amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return to

    policy = {"ask": ["bank.*"], "review": ["bank.pay"], "deny": ["bank.pay_all"]}
    config = Config.model_validate({"store": {"path": str(tmp_path)}, "policy": policy, "mask": {"mode": "full"}})
    tools = {"bank.pay": pay, "bank.pay_more": pay, "bank.pay_all": pay}
    with BlockingRuntime(config, tools=tools, review=approve_small) as runtime:
        small = runtime.execute(PAY.format(5))
        assert (small.status, paid) == ("ok", [5])
        assert runtime.execute(PAY.format(50)).status == "awaiting_approval"
        assert runtime.execute(PAY.format(5).replace("bank.pay", "bank.pay_more")).status == "awaiting_approval"
        assert runtime.execute(PAY.format(5).replace("bank.pay", "bank.pay_all")).status == "failed"
        assert paid == [5]
        (call,) = asyncio.run_coroutine_threadsafe(list_calls(runtime.runtime, small.id), runtime.runtime.loop).result(10)
        assert str(call.record.rule).endswith("approved by the reviewer: small amount")


def fail(_call: ToolCall, _tool: Tool) -> str:
    raise ValueError("ann@example.org")


async def wait_for_ever(_call: ToolCall, _tool: Tool) -> str:
    await asyncio.Event().wait()
    return "never"


def answer(value: Any) -> Callable[..., Any]:
    def review(_call: ToolCall, _tool: Tool) -> Any:
        return value

    return review


@pytest.mark.parametrize("reviewer", [fail, wait_for_ever, answer(True), answer(" \n"), answer(1), answer(None), None])
def test_what_is_no_reason_leaves_the_decision_to_a_person(reviewer: Callable[..., Any] | None) -> None:
    assert find_reason(reviewer) is None


def test_a_destructive_tool_and_a_changed_definition_are_never_reviewed() -> None:
    def approve(*_: object) -> str:
        return "fine"

    assert find_reason(approve) == "approved by the reviewer: fine"
    assert find_reason(approve, annotations={"destructiveHint": True}) is None
    assert find_reason(approve, rule='policy.changed_definitions "ask"') is None


def find_reason(reviewer: Callable[..., Any] | None, rule: str = DECIDED.rule, annotations: dict[str, Any] | None = None) -> Any:
    policy = Policy.from_config(Config.model_validate({"policy": {"review": ["bank.*"]}}).policy)
    tool = Tool(server="bank", name="pay", annotations=annotations or {})
    reviews = CallReviews(policy, reviewer, 0.05)
    call = ToolCall(id=1, tool="bank.pay", arguments={})
    return asyncio.run(reviews.find_reason(call, tool, Decision(effect="ask", rule=rule), {}))
