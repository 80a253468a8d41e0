"""Finds the program in an answer of a model without tool calling. Only a block with the marker is one; others are illustrations.

Fences are read as in CommonMark: three or more backticks or tildes, indented by at most three spaces, closed by as many of the
same kind. A block within another block, in a quotation or in indented code is text.
"""

import re

from msgspec import Struct

MARKER = "run"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n]*)$")
_INFO = re.compile(r"^\{?\.?(?:(?:python|python3|py)[\s,]+)?run(?:[\s,]+python)?\}?$", re.IGNORECASE)


class MarkedProgram(Struct, frozen=True, kw_only=True):
    """The first marked block of an answer: its code, where it ends in the text, and whether its fence was closed."""

    code: str
    end: int
    is_closed: bool


def find_marked_program(text: str) -> MarkedProgram | None:
    """Returns the first block that is to be run; None if there is none.

    What stands in a block without the marker is never run, also if it looks like a marked block.
    """
    opened: re.Match[str] | None = None
    lines: list[str] = []
    place = 0
    for line in text.splitlines(keepends=True):
        place += len(line)
        plain = line.rstrip("\r\n")
        fence = _FENCE.match(plain)
        if opened is None:
            # The line of a fence of backticks holds no further backtick: otherwise it is code within a line.
            if fence is not None and not (fence[1][0] == "`" and "`" in fence[2]):
                opened, lines = fence, []
        elif fence is not None and fence[1].startswith(opened[1]) and not fence[2].strip():
            if _is_marked(opened):
                return _build_program(lines, opened, place, is_closed=True)
            opened = None
        else:
            lines.append(line)
    if opened is not None and _is_marked(opened) and "".join(lines).strip():
        return _build_program(lines, opened, place, is_closed=False)
    return None


def _is_marked(fence: re.Match[str]) -> bool:
    return _INFO.match(fence[2].strip()) is not None


def _build_program(lines: list[str], fence: re.Match[str], end: int, *, is_closed: bool) -> MarkedProgram | None:
    indent = len(fence[0]) - len(fence[0].lstrip(" "))
    code = "".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
    return MarkedProgram(code=code, end=end, is_closed=is_closed) if code.strip() else None
