"""Colours lines of an answer: prose with a little Markdown, and programs in it or beside it."""

import re
from collections.abc import Callable

from rich.syntax import Syntax
from rich.text import Text

StyleLine = Callable[[str], Text]
"""Takes the next line of a text, and returns it with its colours."""

HIGHLIGHTED_LINES = 200
"""How many lines before it a line is coloured with; a text in quotes that began earlier looks like code."""
BAR = "│ "
THEME = "ansi_dark"  # the sixteen colours of the terminal, so that they fit its background
_MARKS = re.compile(r"\*\*(?P<bold>[^*\n]+)\*\*|`(?P<code>[^`\n]+)`")
_FENCE = re.compile(r"\s*```\s*(\w*)")


def style_program(language: str = "python") -> StyleLine:
    """Returns a function that colours the lines of one program, each as it belongs to those before it."""
    lines: list[str] = []
    syntax = Syntax("", language, theme=THEME, background_color="default")

    def style_line(line: str) -> Text:
        lines.append(line)
        del lines[:-HIGHLIGHTED_LINES]
        styled = syntax.highlight("\n".join(lines))
        styled.rstrip()
        return Text.assemble((BAR, "dim"), styled.split("\n")[-1] if line.strip() else "")

    return style_line


def style_answer() -> StyleLine:
    """Returns a function that colours the lines of one answer: headings, **bold**, `code`, and programs between fences."""
    program: StyleLine | None = None

    def style_line(line: str) -> Text:
        nonlocal program
        if found := _FENCE.match(line):
            program = style_program(found[1] or "text") if program is None else None
            return Text(line, style="dim")
        if program is not None:
            return program(line)
        if line.startswith("#"):
            return Text(line.lstrip("# "), style="bold")
        return _style_marks(line)

    return style_line


def _style_marks(line: str) -> Text:
    styled, end = Text(), 0
    for found in _MARKS.finditer(line):
        styled.append(line[end : found.start()])
        if found["bold"] is not None:
            styled.append(found["bold"], style="bold")
        else:
            styled.append(found["code"], style="cyan")
        end = found.end()
    styled.append(line[end:])
    return styled
