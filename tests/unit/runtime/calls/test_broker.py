"""Layers wrap the upstream in the order in which they are written."""

import asyncio
from typing import Any

import pytest

from gristmill.errors import CallRefused
from gristmill.model import Execution, Handler, Limits, ToolCall, ToolResult
from gristmill.runtime.calls.broker import compose_layers, leave_while_open
from gristmill.runtime.execution.execution_state import ExecutionState


def test_the_first_layer_sees_a_call_first_and_its_answer_last() -> None:
    seen: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self.name = name

        async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
            seen.append(f"{self.name} in")
            result = await proceed(call)
            seen.append(f"{self.name} out")
            return result

    async def upstream(call: ToolCall) -> ToolResult:
        seen.append(call.tool)
        return ToolResult(value=1)

    handler = compose_layers((Noting("outer"), Noting("inner")), upstream)
    assert asyncio.run(_call(handler)) == ToolResult(value=1)
    assert seen == ["outer in", "inner in", "crm.find", "inner out", "outer out"]


async def _call(handler: Handler) -> ToolResult:
    return await handler(ToolCall(id=1, tool="crm.find", arguments={}))


def test_a_call_that_waited_until_its_gate_was_closed_does_not_leave() -> None:
    run = ExecutionState(execution=Execution(id="e", code="", limits=Limits()), root="e")
    sent: list[ToolCall] = []

    async def upstream(call: ToolCall) -> ToolResult:
        sent.append(call)
        return ToolResult(value=1)

    handler = leave_while_open(run, upstream)
    call = ToolCall(id=1, tool="t.a", arguments={}, execution="e")
    assert asyncio.run(_answer(handler, call)) == 1
    run.gate.closed = True
    with pytest.raises(CallRefused) as refused:
        asyncio.run(_answer(handler, call))
    assert (refused.value.rule, sent) == ("execution.ended", [call])


async def _answer(handler: Handler, call: ToolCall) -> Any:
    return (await handler(call)).value
