"""Prints rows under headings, and formats times for people.

On a terminal a table fits its width: texts are wrapped, ids cut at their end, and
columns that matter least left out, with a word about it. In a pipe or a file nothing is wrapped, cut or left out.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from gristmill.serve.cli.terminal.safe_output import neutralize_text, stderr, stdout

GAP = 2
LEAST_TEXT = 12
LEAST_ID = 10
"""The fewest characters of a text and of an id that a narrow terminal leaves of a longer one."""

Cell = str | tuple[str, str]
"""A text, or a text and its style."""


class Column(Struct, frozen=True, kw_only=True):
    """A column: how it gives way on a narrow terminal."""

    title: str
    kind: Literal["text", "id", "number", "fixed"] = "text"
    """Texts are wrapped and ids cut; numbers stand at the right, and they and fixed words keep their width."""
    leave: int = 0
    """Columns with the highest number are left out first; 0 is never left out."""


class FittedTable(Struct, frozen=True, kw_only=True):
    """The lines of a table, and the titles of the columns that found no room."""

    lines: tuple[Text, ...]
    left_out: tuple[str, ...] = ()


def print_table(columns: Sequence[str | Column], rows: Sequence[Sequence[Cell]], total: Sequence[Cell] | None = None) -> None:
    """Prints rows under headings, and a row with totals below; nothing if there are no rows.

    Cells may hold text from models and servers, so control characters are escaped.
    """
    if not rows:
        return
    fitted = fit_table(columns, [*rows, *([total] if total else [])], find_width())
    for line in fitted.lines:
        stdout().print(line)
    if fitted.left_out:
        stderr().print(f"(no room for: {', '.join(fitted.left_out)}; a pipe or --json shows all)", style="dim")


def find_width() -> int | None:
    """Returns the columns of the terminal; None where standard output is none."""
    return stdout().width if sys.stdout.isatty() else None


def fit_table(columns: Sequence[str | Column], rows: Sequence[Sequence[Cell]], width: int | None) -> FittedTable:
    """Returns the lines of a table that is at most ``width`` wide; without a width each row is one line."""
    kinds = [each if isinstance(each, Column) else Column(title=each) for each in columns]
    cells = [[_clean_cell(cell) for cell in row] for row in rows]
    shown = list(range(len(kinds)))
    while (widths := _choose_widths([kinds[n] for n in shown], [[row[n] for n in shown] for row in cells], width)) is None:
        going = max(shown, key=lambda number: kinds[number].leave)
        if not kinds[going].leave:
            widths = _find_least([kinds[n] for n in shown], [[row[n] for n in shown] for row in cells])
            break
        shown.remove(going)
    heading: list[Cell] = [kinds[number].title for number in shown]
    lines = _lay_out_row([kinds[number] for number in shown], heading, widths, "bold")
    for row in cells:
        lines += _lay_out_row([kinds[number] for number in shown], [row[number] for number in shown], widths)
    return FittedTable(lines=tuple(lines), left_out=tuple(each.title for n, each in enumerate(kinds) if n not in shown))


def format_time(seconds: float) -> str:
    """Formats a Unix time for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _clean_cell(cell: Cell) -> tuple[str, str]:
    text, style = cell if isinstance(cell, tuple) else (cell, "")
    return " ".join(neutralize_text(text).split()), style


def _find_natural(columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, str]]]) -> list[int]:
    return [
        max(cell_len(column.title), *(cell_len(row[number][0]) for row in rows)) if rows else cell_len(column.title)
        for number, column in enumerate(columns)
    ]


def _find_least(columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, str]]]) -> list[int]:
    least = {"text": LEAST_TEXT, "id": LEAST_ID}
    return [
        min(natural, max(least.get(column.kind, natural), cell_len(column.title)))
        for column, natural in zip(columns, _find_natural(columns, rows), strict=True)
    ]


def _choose_widths(columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, str]]], width: int | None) -> list[int] | None:
    """Returns the widths of columns that fit together; None if they cannot."""
    widths, least = _find_natural(columns, rows), _find_least(columns, rows)
    room = None if width is None else width - GAP * (len(columns) - 1)
    if room is None or sum(widths) <= room:
        return widths
    if sum(least) > room:
        return None
    while sum(widths) > room:  # the widest that can gives way, so that short ones stay whole
        widest = max((n for n in range(len(widths)) if widths[n] > least[n]), key=lambda number: widths[number])
        widths[widest] -= 1
    return widths


def _lay_out_row(columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], style: str = "") -> list[Text]:
    blocks = [
        _wrap_text(text, width) if column.kind == "text" else [_cut_text(text, width)]
        for column, (text, _), width in zip(columns, map(_clean_cell, row), widths, strict=True)
    ]
    styles = [style or _clean_cell(cell)[1] for cell in row]
    lines: list[Text] = []
    for height in range(max(map(len, blocks))):
        line = Text()
        for number, (column, block, width) in enumerate(zip(columns, blocks, widths, strict=True)):
            part = block[height] if height < len(block) else ""
            padding = " " * (width - cell_len(part))
            line.append(" " * GAP if number else "")
            line.append(padding if column.kind == "number" else "")
            line.append(part, styles[number])
            line.append("" if column.kind == "number" else padding)
        line.rstrip()
        lines.append(line)
    return lines


def _cut_text(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    mark = "…" if (sys.stdout.encoding or "").lower().startswith("utf") else "~"
    return set_cell_size(text, width - 1).rstrip() + mark


def _wrap_text(text: str, width: int) -> list[str]:
    """Wraps a text between words; a longer word is broken, after one of its marks if there is one."""
    lines, line = list[str](), ""
    for word in text.split():
        while cell_len(word) > width:
            space = width - cell_len(line) - (1 if line else 0)
            if space < width // 2 and line:
                lines.append(line)
                line, space = "", width
            head = _take_part(set_cell_size(word, space).rstrip())
            line, word = f"{line} {head}".strip(), word[len(head) :]
            lines.append(line)
            line = ""
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line] if line or not lines else lines


def _take_part(head: str) -> str:
    """Returns the beginning of a long word up to its last mark, as in `crm.create_`, unless that would be short."""
    place = max(head.rfind(mark) for mark in "._-/@:") + 1
    return head[:place] if place > len(head) // 2 else head
