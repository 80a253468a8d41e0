"""Writes text to a terminal as it arrives, and colours each line when it is complete."""

from rich.cells import cell_len
from rich.console import Console

from gristmill.serve.cli.terminal.chat.line_styles import StyleLine
from gristmill.serve.cli.terminal.safe_output import neutralize_text

LONGEST_LINE = 20_000
"""A line that is longer is written without colours."""


class LineStream:
    """One text that arrives in pieces. What controls a terminal is escaped.

    The unfinished line is shown as it is; when it ends, it is written anew with its colours. Where the console shows no
    colours, every piece is written once.
    """

    def __init__(self, console: Console, style: StyleLine, *, margin: str = "") -> None:
        self._console, self._style, self._margin = console, style, margin
        self._colours = console.is_terminal and not console.no_color and not console.is_dumb_terminal
        self._line = ""
        self.is_used = False

    def write(self, piece: str) -> None:
        """Writes the next piece of the text."""
        *complete, rest = neutralize_text(piece).expandtabs(4).split("\n")
        for part in complete:
            self._extend(part)
            self._end_line()
        self._extend(rest)
        self._console.file.flush()

    def close(self) -> None:
        """Ends the last line, if it is not empty."""
        if self._line:
            self._end_line()
        self._console.file.flush()

    def _extend(self, part: str) -> None:
        if not part:
            return
        self.is_used = True
        self._console.file.write(part if self._line else self._margin + part)
        self._line += part

    def _end_line(self) -> None:
        line, self._line = self._line, ""
        rows = max(1, -(-cell_len(self._margin + line) // self._console.width))
        if not self._colours or rows >= self._console.height or len(line) > LONGEST_LINE:
            self._console.file.write("\n")
            return
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        self._console.file.write(f"\r{up}\x1b[J")
        self._console.print(self._style(line))
