"""Layers wrap the upstream in the order in which they are written."""

import asyncio

from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.calls.broker import compose


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

    handler = compose((Noting("outer"), Noting("inner")), upstream)
    assert asyncio.run(_call(handler)) == ToolResult(value=1)
    assert seen == ["outer in", "inner in", "crm.find", "inner out", "outer out"]


async def _call(handler: Handler) -> ToolResult:
    return await handler(ToolCall(id=1, tool="crm.find", arguments={}))
