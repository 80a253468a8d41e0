"""Removes the last statement of a program that was cut in the middle of it."""

import ast

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
        kept = "\n".join(lines[:-count])
        return kept if _calls_something(kept) else None
    return None


def _calls_something(text: str) -> bool:
    """Returns whether a text is a program that calls something: imports alone are not worth running."""
    try:
        tree = parse_program(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))
