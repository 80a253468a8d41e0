"""A layer that unmasks the arguments of tool calls where allowed and, in ``full`` mode, masks their results."""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from gristmill.errors import Error
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Handler, ToolCall, ToolResult

Reveal = Callable[[ToolCall], bool]
"""Tells whether a call may carry real values; it gets the call with its placeholders."""


class MaskLayer:
    """The layer next to the upstream: all other layers see the same placeholders as the program."""

    def __init__(self, redactor: Redactor, *, mode: Literal["output", "full"], reveal: Reveal) -> None:
        self._redactor = redactor
        self._masks_results = mode == "full"
        self._reveal = reveal

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Unmasks the arguments, sends the call, and masks its result or error."""
        call = self._unmask_call(call)
        if not self._masks_results:
            return await proceed(call)
        try:
            result = await proceed(call)
        except Error as error:
            self._mask_error(error)
            raise
        value = self._redactor.mask(result.value)
        return result if value is result.value else replace(result, value=value)

    def _unmask_call(self, call: ToolCall) -> ToolCall:
        arguments = self._redactor.unmask(call.arguments)
        positional = self._redactor.unmask(call.positional)
        unchanged = arguments is call.arguments and positional is call.positional
        if unchanged or not self._reveal(call):
            return call
        return replace(call, arguments=arguments, positional=tuple(positional))

    def _mask_error(self, error: Error) -> None:
        # In place, since callers look at the class, code and other fields. Causes are removed: a log would show their raw text.
        error.args = tuple(self._redactor.mask_text(part) if isinstance(part, str) else part for part in error.args)
        error.__notes__ = [self._redactor.mask_text(note) for note in getattr(error, "__notes__", ())]
        error.__cause__ = None
        error.__context__ = None
