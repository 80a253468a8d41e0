"""Removes what stands in front of the lines of a program, and lines that are not Python: prompts, numbers, shell commands."""

import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise

_PROMPT = re.compile(r"[ \t]*(?:>>>[ ]?|\.\.\.(?: |$))")
_CELL = re.compile(r"[ \t]*(In|Out)[ \t]*\[[ \t\d]*\]:[ \t]?")
_CELL_MORE = re.compile(r"[ \t]*\.\.\.+:[ \t]?")
_NUMBERED = re.compile(r"[ \t]*(\d{1,5})(?:[ \t]*[:|)→.][ ]?|\t|[ ])(.*)")
_SHELL = re.compile(
    r"[ \t]*(?:[%!]{1,2}[ \t]*[A-Za-z]"
    r"|(?:\$[ \t]+)?(?:uv[ \t]+)?(?:pip3?|conda|apt|apt-get|npm|brew|python3? -m pip)[ \t]+(?:install|add)\b"
    r"|\?+[\w.]+[ \t]*$|[\w.]+\?+[ \t]*$)"
)
_SIGNATURE = re.compile(
    r"[ \t]*(?:[-*][ \t]+)?`?(?:async[ \t]+)?(?:def[ \t]+)?[\w.]+\([^\n]*\)[ \t]*->[ \t]*[\w\[\]., |'\"]+`?;?[ \t]*(?:#[^\n]*)?"
)
_BARE_DEFINITION = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+\w+\([^\n]*\)[^\n]*:[ \t]*(?:\.\.\.)?[ \t]*")


def drop_prompts(text: str) -> str | None:
    """Returns the program of an interactive transcript; what it printed is dropped."""
    lines = text.splitlines()
    if any(line.lstrip().startswith(">>>") for line in lines):
        return "\n".join(_PROMPT.sub("", line, count=1) for line in lines if _PROMPT.match(line))
    if not any(_CELL.match(line) for line in lines):
        return None
    return "\n".join(_read_cells(lines))


def _read_cells(lines: list[str]) -> Iterator[str]:
    """Yields the lines that were typed. In a terminal each of them has a mark; in a notebook only the first of a cell has one."""
    all_marked = any((cell := _CELL.match(line)) and cell[1] == "In" and line[cell.end() :].strip() for line in lines)
    typed = not all_marked
    for line in lines:
        if cell := _CELL.match(line):
            typed = cell[1] == "In" and not all_marked
            if cell[1] == "In":
                yield line[cell.end() :]
        elif more := _CELL_MORE.match(line):
            yield line[more.end() :]
        elif typed:
            yield line


def drop_line_numbers(text: str) -> str | None:
    """Returns the text without the numbers in front of its lines, if they count up."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(each[1]) for each in found if each]
    if len(lines) < 2 or len(numbers) != len(lines) or any(b <= a for a, b in pairwise(numbers)):
        return None
    return textwrap.dedent("\n".join(each[2] for each in found if each))


def drop_shell_lines(text: str) -> str | None:
    """Returns the text without notebook magics and commands to install packages."""
    lines = text.splitlines()
    kept = [line for line in lines if not _SHELL.match(line)]
    return "\n".join(kept) if len(kept) < len(lines) else None


def drop_signatures(text: str) -> str | None:
    """Returns the text without lines of a search answer, such as ``get_booking(user_id: int) -> Booking``."""
    lines = text.splitlines()
    kept: list[str] = []
    after = ""
    for line in reversed(lines):
        if not _is_signature(line, after):
            kept.append(line)
        after = line if line.strip() else after
    return "\n".join(reversed(kept)) if len(kept) < len(lines) else None


def _is_signature(line: str, after: str) -> bool:
    """Returns whether a line is only a signature; one that ends with a colon has no body on the line ``after`` it."""
    if _SIGNATURE.fullmatch(line):
        return True
    if not after:
        return False
    indent = len(line) - len(line.lstrip())
    return _BARE_DEFINITION.fullmatch(line) is not None and len(after) - len(after.lstrip()) <= indent


def remove_indent(text: str) -> str | None:
    """Returns the text without the indent that all lines, or all but the first, have in common."""
    whole = textwrap.dedent(text.expandtabs(8) if "\t" in text and " " in text else text)
    if whole != text:
        return whole
    first, _, rest = text.lstrip().partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}" if rest else None
