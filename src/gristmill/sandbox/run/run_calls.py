"""The tool calls of one run: counted, passed to the handler, answered. The caller is named by the job, never by a frame."""

import asyncio
import base64
import sys
from collections.abc import Callable, Coroutine

import msgspec
from msgspec import Struct

from gristmill.errors import Error, LimitExceeded
from gristmill.events import CallFinished, CallStarted, Emit
from gristmill.model import ABANDONED, Handler, ToolCall, ToolResult
from gristmill.sandbox.base import SandboxJob
from gristmill.sandbox.run import frames as bridge

MOST_REFUSALS = 100
"""How many calls past the limit are answered with an error before the run is ended."""
CANCEL_SECONDS = 1.0
"""How long the end of a run waits for cancelled calls to be recorded. None of them can begin any more."""


class _OpenCall(Struct, frozen=True):
    """A call that has not been answered: the guest's id of it, and the call as the host sends it."""

    id: int
    call: ToolCall


class RunCalls:
    """The calls that one run has made so far, and those in progress."""

    def __init__(self, job: SandboxJob, handler: Handler, emit: Emit, send: Callable[[bytes], None]) -> None:
        self._job, self._handler, self._emit, self._send = job, handler, emit, send
        self._loop = asyncio.get_running_loop()
        # By the host's own numbers: a guest chooses its ids, so two of its calls may have the same.
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._open: dict[int, _OpenCall] = {}
        self._open_ids: dict[int, int] = {}  # the guest's id -> our number
        self._refused = 0
        self._abandoned = 0
        self.count = 0
        self.bytes = 0
        self.tools: dict[str, None] = {}

    def begin(self, call: bridge.CallFrame, length: int) -> str | None:
        """Starts one call, or refuses it; returns the limit that must end the run, if any.

        Raises:
            ProtocolViolation: a call with the same id is still open.
        """
        if call.id in self._open_ids:
            raise bridge.ProtocolViolation("a call with the id of another one that is open")
        limits = self._job.limits
        self.bytes += length
        limit = "calls" if self.count >= limits.calls else "call_bytes" if self.bytes > limits.call_bytes else None
        if limit or self._job.gate.closed:
            return self._refuse_call(call.id, limit)
        self.count += 1
        self.tools[call.tool] = None
        outgoing = ToolCall(
            id=self.count, tool=call.tool, arguments=call.arguments, positional=tuple(call.positional),
            execution=self._job.execution, session=self._job.session, identity=self._job.identity,
        )  # fmt: skip
        self._emit(CallStarted(execution=self._job.execution, call=outgoing.id, tool=call.tool))
        self._open[outgoing.id], self._open_ids[call.id] = _OpenCall(call.id, outgoing), outgoing.id
        task = _start_eagerly(self._loop, self._answer_call(outgoing))
        if not task.done():
            self._tasks[outgoing.id] = task
        return None

    def abandon(self, frame: bridge.AbandonFrame) -> None:
        """Cancels a call that the program no longer waits for; one that was answered meanwhile is left as it is.

        Raises:
            ProtocolViolation: more calls were abandoned than made.
        """
        self._abandoned += 1
        if self._abandoned > self.count + MOST_REFUSALS:  # a program may give up a call before it has left
            raise bridge.ProtocolViolation("more calls were abandoned than made")
        number = self._open_ids.get(frame.id)
        if number is not None:
            # It is answered all the same: a thread of the program may still wait for it.
            self._conclude(
                number, bridge.encode_frame("error", frame.id, ABANDONED, "the program gave this call up"), abandoned=True
            )
            self._cancel_task(number, ABANDONED)

    def close(self, reason: str) -> None:
        """Closes the gate, and cancels and answers every open call: the program that would use the answers is at its end."""
        self._job.gate.closed = True
        for number, open_call in list(self._open.items()):
            self._conclude(number, bridge.encode_frame("error", open_call.id, "cancelled", reason))
            self._cancel_task(number, None)

    async def wait_until_cancelled(self) -> None:
        """Waits until the cancelled calls are recorded, no longer than ``CANCEL_SECONDS``."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=CANCEL_SECONDS)

    def _cancel_task(self, number: int, reason: str | None) -> None:
        if (task := self._tasks.get(number)) is not None:
            task.cancel(reason)

    def _refuse_call(self, number: int, limit: str | None) -> str | None:
        self._refused += 1
        if self._refused > MOST_REFUSALS:
            return limit or "calls"
        if limit is None:
            self._send(bridge.encode_frame("error", number, "cancelled", "the execution has ended"))
            return None
        value = getattr(self._job.limits, limit)
        self._send(
            bridge.encode_frame("error", number, f"limit.{limit}", f"the limit of {value:,} {limit} for one execution is used up")
        )
        return None

    async def _answer_call(self, call: ToolCall) -> None:
        number, ok, planned = self._open[call.id].id, False, False
        try:
            result = await self._handler(call)
            frame, planned = _make_value_frame(number, result), result.planned is not None
            ok = not (result.is_error or planned)
        except Error as error:
            frame = _make_error_frame(number, error)
        except asyncio.CancelledError:
            self._tasks.pop(call.id, None)
            raise
        except Exception as error:  # a bug of the handler: the program learns its class, never its text
            frame = _make_error_frame(number, Error(f"the tool failed inside the gateway ({type(error).__name__})"))
        self._tasks.pop(call.id, None)
        if call.id in self._open:
            self.bytes += len(frame)
            self._conclude(call.id, frame, ok=ok, planned=planned)

    def _conclude(self, number: int, frame: bytes, *, ok: bool = False, abandoned: bool = False, planned: bool = False) -> None:
        """Answers an open call. Each call is answered once."""
        done = self._open.pop(number)
        del self._open_ids[done.id]
        if self.bytes > self._job.limits.call_bytes:
            self._refuse_call(done.id, "call_bytes")
        else:
            self._send(frame)
        call = done.call
        self._emit(
            CallFinished(execution=call.execution, call=call.id, tool=call.tool, ok=ok, abandoned=abandoned, planned=planned)
        )


def _start_eagerly(loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """Starts a task and takes its first step at once: a tool that answers immediately costs no further turn of the loop."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    # Python 3.12 has this as a feature; before, take the step that was just queued from the queue and run it.
    task = loop.create_task(work)
    ready = getattr(loop, "_ready", None)  # asyncio's own event loop; another one takes the step in its next turn
    if ready and asyncio.current_task(loop) is None:  # a task cannot take its step within another task's
        ready.pop()._run()
    return task


def _make_value_frame(number: int, result: ToolResult) -> bytes:
    if result.planned is not None:
        return bridge.encode_frame("planned", number, result.planned)
    try:
        if result.files:
            files = {name: base64.b64encode(content).decode("ascii") for name, content in result.files.items()}
            return bridge.encode_frame("value", number, result.value, files)
        return bridge.encode_frame("value", number, result.value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return bridge.encode_frame("error", number, "upstream.tool_failed", f"the tool's result is not JSON: {error}")


def _make_error_frame(number: int, error: Error) -> bytes:
    code = f"limit.{error.limit}" if isinstance(error, LimitExceeded) else error.code
    return bridge.encode_frame("error", number, code, error.message)
