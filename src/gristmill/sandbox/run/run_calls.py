"""The tool calls of one run: counted, handed to the handler, answered. Identity comes from the channel, never from a frame."""

import asyncio
import base64
import sys
from collections.abc import Callable, Coroutine

import msgspec

from gristmill.errors import Error, LimitExceeded
from gristmill.events import CallFinished, CallStarted, Emit
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.sandbox.base import Job
from gristmill.sandbox.run import frames as bridge

PATIENCE = 100
"""Calls past the limit that are answered with an error before the run is ended."""


class Calls:
    """What one run has called so far, and what is under way."""

    def __init__(self, job: Job, handler: Handler, emit: Emit, send: Callable[[bytes], None]) -> None:
        self._job, self._handler, self._emit, self._send = job, handler, emit, send
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._refused = 0
        self.count = 0
        self.bytes = 0
        self.tools: dict[str, None] = {}

    def begin(self, call: bridge.Call, length: int) -> str | None:
        """Start one call, or refuse it; returns the limit that must end the run, if any."""
        limits = self._job.limits
        self.bytes += length
        limit = "calls" if self.count >= limits.calls else "call_bytes" if self.bytes > limits.call_bytes else None
        if limit:
            return self._refuse(call.id, limit)
        self.count += 1
        self.tools[call.tool] = None
        outgoing = ToolCall(
            id=self.count, tool=call.tool, arguments=call.arguments, positional=tuple(call.positional),
            execution=self._job.execution, session=self._job.session, caller=self._job.caller, tenant=self._job.tenant,
        )  # fmt: skip
        self._emit(CallStarted(execution=self._job.execution, call=outgoing.id, tool=call.tool))
        task = _begun(self._loop, self._answer(call.id, outgoing))
        if not task.done():
            self._tasks[call.id] = task
        return None

    def stop(self) -> None:
        """Cancel what is still under way: nobody is left to hear the answers."""
        for task in self._tasks.values():
            task.cancel()

    def _refuse(self, number: int, limit: str) -> str | None:
        self._refused += 1
        if self._refused > PATIENCE:
            return limit
        value = getattr(self._job.limits, limit)
        self._send(
            bridge.encode("error", number, f"limit.{limit}", f"the limit of {value:,} {limit} for one execution is used up")
        )
        return None

    async def _answer(self, number: int, call: ToolCall) -> None:
        ok = False
        try:
            result = await self._handler(call)
            frame, ok = _value_frame(number, result), not result.is_error
        except Error as error:
            frame = _error_frame(number, error)
        except Exception as error:  # a handler's bug is the host's: the code learns its class, never its text
            frame = _error_frame(number, Error(f"the tool failed inside the gateway ({type(error).__name__})"))
        self.bytes += len(frame)
        if self.bytes > self._job.limits.call_bytes:
            self._refuse(number, "call_bytes")
        else:
            self._send(frame)
        self._emit(CallFinished(execution=call.execution, call=call.id, tool=call.tool, ok=ok))
        self._tasks.pop(number, None)


def _begun(loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """A task that has taken its first step already: a tool that answers at once costs no further turn of the loop."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    # What Python 3.12 made a feature: take back the step that was just put in line, and do it.
    task = loop.create_task(work)
    ready = getattr(loop, "_ready", None)  # asyncio's own loop; another simply takes the step in its next turn
    if ready and asyncio.current_task(loop) is None:  # one task cannot take its step within another's
        ready.pop()._run()
    return task


def _value_frame(number: int, result: ToolResult) -> bytes:
    if result.planned is not None:
        return bridge.encode("planned", number, result.planned)
    try:
        if result.files:
            files = {name: base64.b64encode(content).decode("ascii") for name, content in result.files.items()}
            return bridge.encode("value", number, result.value, files)
        return bridge.encode("value", number, result.value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return bridge.encode("error", number, "upstream.tool_failed", f"the tool's result is not JSON: {error}")


def _error_frame(number: int, error: Error) -> bytes:
    code = f"limit.{error.limit}" if isinstance(error, LimitExceeded) else error.code
    return bridge.encode("error", number, code, error.message)
