"""Events on their way to whoever listens: what the code printed is masked first, a line at a time."""

from dataclasses import dataclass, replace

from gristmill.events import CallProgressed, Emit, Event, OutputWritten
from gristmill.guard.mask.redactor import Redactor

LINE = 16_384
"""Characters of a line that are held back until it ends; a longer one is passed on in pieces, cut at a blank if it has one."""


@dataclass(slots=True)
class MaskedEmit:
    """An ``Emit`` that shows masks. Output comes in pieces of any size, and an address must not pass in two halves."""

    emit: Emit
    redactor: Redactor
    _held: OutputWritten | None = None

    def __call__(self, event: Event) -> None:
        """Pass ``event`` on, as it may be seen."""
        if isinstance(event, OutputWritten):
            text = (self._held.text if self._held else "") + event.text
            end = _whole(text)
            self._held = replace(event, text=text[end:])
            self._write(replace(event, text=text[:end]))
        elif isinstance(event, CallProgressed) and event.message:
            self.emit(replace(event, message=self.redactor.mask_text(event.message)))
        else:
            self.emit(event)

    def flush(self) -> None:
        """Pass on what was held back: nothing follows."""
        held, self._held = self._held, None
        if held is not None:
            self._write(held)

    def _write(self, event: OutputWritten) -> None:
        if event.text:
            self.emit(replace(event, text=self.redactor.mask_text(event.text)))


def _whole(text: str) -> int:
    """How much of ``text`` is certainly whole."""
    end = text.rfind("\n") + 1
    if len(text) - end <= LINE:
        return end
    return max(text.rfind(" ") + 1, end) or len(text)
