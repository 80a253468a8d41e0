"""Makes one tool call without a program: same layers, same record, no sandbox. For small calls a program costs too much."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import Struct

from gristmill.errors import Error, LimitExceeded, Refused
from gristmill.events import CallFinished, CallStarted, Emit
from gristmill.model import Execution, Handler, Json, Report, Status, ToolCall, ToolResult, Usage

SaveFiles = Callable[[Mapping[str, bytes]], Awaitable[None]]
"""Saves the files that came with a result where the session's code finds them."""


class DirectCall(Struct, frozen=True, kw_only=True):
    """The tool to be called, and its arguments."""

    tool: str
    arguments: Mapping[str, Json]

    @property
    def program(self) -> str:
        """Returns the program that makes the same call: it is recorded, and run when the call is resumed."""
        return f"from mcp_client import call_mcp_tool\ncall_mcp_tool({self.tool!r}, {dict(self.arguments)!r})"

    async def make_call(self, execution: Execution, handler: Handler, emit: Emit, save: SaveFiles) -> Report:
        """Makes the call within the limits of ``execution``, and returns a report of success or failure."""
        call = ToolCall(
            id=1, tool=self.tool, arguments=self.arguments, execution=execution.id, session=execution.session,
            identity=execution.identity,
        )  # fmt: skip
        began = time.perf_counter()
        emit(CallStarted(execution=execution.id, call=call.id, tool=call.tool))
        report = await _call_within_limits(call, handler, execution, save)
        emit(CallFinished(execution=execution.id, call=call.id, tool=call.tool, ok=report["status"] == "ok"))
        return Report(usage=Usage(seconds=time.perf_counter() - began, calls=1), tools_called=(self.tool,), **report)


async def _call_within_limits(call: ToolCall, handler: Handler, execution: Execution, save: SaveFiles) -> dict[str, Json]:
    limits = execution.limits
    try:
        async with asyncio.timeout(limits.seconds):
            result = await handler(call)
        size = _measure_result(result)
        if size > limits.result_bytes:
            text = f"the result has {size:,} bytes, more than the {limits.result_bytes:,} of one result: use it in a program"
            raise LimitExceeded(text, limit="result_bytes", value=limits.result_bytes)
        if result.files:
            await save(result.files)
    except TimeoutError:
        return {"status": "limited", "limit": "seconds", "error": f"no answer within {limits.seconds:g} seconds"}
    except Error as error:
        limit = error.limit if isinstance(error, LimitExceeded) else None
        return {"status": _choose_status(error), "error": error.message, "error_type": error.code, "limit": limit}
    if result.is_error:
        return {"status": "failed", "error": str(result.value), "error_type": "upstream.tool_failed"}
    return {"status": "ok", "result": result.value}


def _choose_status(error: Error) -> Status:
    return "limited" if isinstance(error, LimitExceeded) else "refused" if isinstance(error, Refused) else "failed"


def _measure_result(result: ToolResult) -> int:
    try:
        return len(msgspec.json.encode(result.value))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise Error(f"the tool's result is not JSON: {error}") from None
