"""Masks program output in events before they are emitted, line by line."""

from dataclasses import dataclass

from msgspec.structs import replace

from gristmill.events import CallProgressed, Emit, Event, OutputWritten
from gristmill.guard.mask.redactor import Redactor

MOST_HELD_CHARACTERS = 16_384
"""The most characters of an unfinished line that are held back; a longer line is emitted in pieces, cut at a blank if any."""


@dataclass(slots=True)
class MaskedEmit:
    """An ``Emit`` that masks output. It emits whole lines, since an address that arrives in two pieces would not be found."""

    emit: Emit
    redactor: Redactor
    _held_output: OutputWritten | None = None

    def __call__(self, event: Event) -> None:
        """Emits ``event`` with its text masked; output waits until its line ends."""
        if isinstance(event, OutputWritten):
            text = (self._held_output.text if self._held_output else "") + event.text
            end = _find_safe_end(text)
            self._held_output = replace(event, text=text[end:])
            self._emit_masked(replace(event, text=text[:end]))
        elif isinstance(event, CallProgressed) and event.message:
            self.emit(replace(event, message=self.redactor.mask_text(event.message)))
        else:
            self.emit(event)

    def flush(self) -> None:
        """Emits the output that was held back, at the end of the run."""
        held, self._held_output = self._held_output, None
        if held is not None:
            self._emit_masked(held)

    def _emit_masked(self, event: OutputWritten) -> None:
        if event.text:
            self.emit(replace(event, text=self.redactor.mask_text(event.text)))


def _find_safe_end(text: str) -> int:
    """Returns how many characters of ``text`` can be masked now, without cutting a line or a word."""
    end = text.rfind("\n") + 1
    if len(text) - end <= MOST_HELD_CHARACTERS:
        return end
    return max(text.rfind(" ") + 1, end) or len(text)
