"""Removes the last statement of a program that was cut in the middle of it."""

import ast
import codeop
import warnings

from gristmill.guard.program.check_program import parse_program

MOST_LINES = 12
"""How many lines the unfinished statement may have."""


def drop_unfinished_end(text: str) -> str | None:
    """Returns the text up to the last complete statement, if only one statement is lost and the rest does something."""
    lines = text.rstrip().splitlines()
    for count in range(1, min(MOST_LINES, len(lines) - 1) + 1):
        first = lines[-count]
        if first[:1].isspace() or first[:1] in ")]}":
            continue  # an inner line of the statement that is removed
        kept, dropped = "\n".join(lines[:-count]), "\n".join(lines[-count:])
        if _calls_something(kept) and (count == _count_inner_lines(lines) or _is_unfinished(dropped)):
            return kept
    return None


def _count_inner_lines(lines: list[str]) -> int:
    """Counts the last lines up to the first that is not indented: the last statement, unless a string of it has many lines."""
    return next((count for count, line in enumerate(reversed(lines), 1) if line[:1] not in (" ", "\t", ")", "]", "}", "")), 0)


def _is_unfinished(text: str) -> bool:
    """Returns whether a text is the beginning of one statement, such as a string that was not closed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(text, "<code>", "exec") is None
    except (SyntaxError, ValueError, OverflowError):
        return False


def _calls_something(text: str) -> bool:
    """Returns whether a text is a program that calls something: imports alone are not worth running."""
    try:
        tree = parse_program(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))
