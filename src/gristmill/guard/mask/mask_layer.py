"""A session's masks on the way of a tool call: real values go out where allowed; in ``full`` mode only masks come back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from gristmill.errors import Error
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Handler, ToolCall, ToolResult

Reveal = Callable[[ToolCall], bool]
"""Whether a call may carry real values; it sees the call with its placeholders."""


class MaskLayer:
    """Innermost but for the upstream: everything further out sees what the code sees."""

    def __init__(self, redactor: Redactor, *, mode: Literal["output", "full"], reveal: Reveal) -> None:
        self._redactor = redactor
        self._masks_results = mode == "full"
        self._reveal = reveal

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Unmask what goes out, mask what comes back, failures included."""
        call = self._unmasked(call)
        if not self._masks_results:
            return await proceed(call)
        try:
            result = await proceed(call)
        except Error as error:
            self._mask_error(error)
            raise
        value = self._redactor.mask(result.value)
        return result if value is result.value else replace(result, value=value)

    def _unmasked(self, call: ToolCall) -> ToolCall:
        arguments = self._redactor.unmask(call.arguments)
        positional = self._redactor.unmask(call.positional)
        unchanged = arguments is call.arguments and positional is call.positional
        if unchanged or not self._reveal(call):
            return call
        return replace(call, arguments=arguments, positional=tuple(positional))

    def _mask_error(self, error: Error) -> None:
        # In place: the class, its code and its other fields are what callers look at. Causes would be logged with the raw text.
        error.args = tuple(self._redactor.mask_text(part) if isinstance(part, str) else part for part in error.args)
        error.__notes__ = [self._redactor.mask_text(note) for note in getattr(error, "__notes__", ())]
        error.__cause__ = None
        error.__context__ = None
