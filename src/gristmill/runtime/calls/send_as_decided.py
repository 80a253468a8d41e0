"""Sends a call only to the tool that was decided about: a server that reconnects may come back with another definition."""

from msgspec import Struct

from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.calls.decide_call import ConfirmDefinition
from gristmill.runtime.execution.execution_state import ExecutionState


class SendAsDecided(Struct, frozen=True):
    """The innermost layer: it connects the server first and then compares the definition with the one of the decision."""

    run: ExecutionState
    confirm: ConfirmDefinition

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, or refuses it.

        Raises:
            CallRefused: the server has another definition of the tool now.
            UpstreamUnavailable: the server cannot be reached.
        """
        definition = self.run.definitions.get(call.id)
        if definition is not None:
            await self.confirm(call.tool, definition)
        return await proceed(call)
