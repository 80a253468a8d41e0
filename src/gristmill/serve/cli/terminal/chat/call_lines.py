"""Shows the calls of a running program: the first in a line each, with their times, the rest as one line that counts."""

from rich.console import Console

from gristmill.serve.cli.terminal.safe_output import style_parts

SHOWN_CALLS = 8
"""How many calls of a program have a line of their own."""


class CallLines:
    """The calls of one program."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_live = console.is_terminal and not console.is_dumb_terminal
        self._finished = self._failed = 0
        self._milliseconds = 0.0
        self._has_live_line = False

    def add(self, tool: str, milliseconds: float, *, ok: bool) -> None:
        """Shows a call that has ended."""
        self._finished += 1
        self._failed += not ok
        self._milliseconds += milliseconds
        if self._finished <= SHOWN_CALLS:
            mark = ("  ✓ ", "green") if ok else ("  ✗ ", "red")
            self._console.print(style_parts(mark, tool, (f"  {format_milliseconds(milliseconds)}", "dim")))
        elif self._is_live:
            self._console.file.write("\r\x1b[K")
            self._console.print(self._count(), end="")
            self._has_live_line = True

    def make_room(self) -> None:
        """Removes the line that counts, so that something else can be printed; the next call brings it back."""
        if self._has_live_line:
            self._console.file.write("\r\x1b[K")
            self._has_live_line = False

    def close(self) -> None:
        """Ends the list, with the count if some calls had no line."""
        self.make_room()
        if self._finished > SHOWN_CALLS:
            self._console.print(self._count(), style="dim")
        self._finished = self._failed = 0
        self._milliseconds = 0.0

    def _count(self) -> str:
        failed = f", {self._failed:,} failed" if self._failed else ""
        return f"  … {self._finished:,} calls{failed}, {format_milliseconds(self._milliseconds)} in all"


def format_milliseconds(milliseconds: float) -> str:
    """Formats a time for people: ``12 ms``, ``3.4 s``, ``2 min``."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 120_000 else f"{milliseconds / 60_000:.0f} min"
