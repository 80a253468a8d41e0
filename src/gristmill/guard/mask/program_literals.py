"""Rewrites the literals of a program, so that it can compare values with what its author was shown, or was told by the user.

Where code works with placeholders, a literal that is a real value as a whole becomes its placeholder: ``row["mail"] ==
"ann@example.org"`` then finds the row. Where code works with real values, the placeholders in its literals become real values.
Either way both sides of a comparison have the same form. No line moves, and a program in which nothing is found is not touched.
"""

import ast
import re
from collections.abc import Callable, Iterable

from gristmill.guard.mask.placeholders import EXACT_PLACEHOLDER, find_placeholders
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Json

LEAST_NUMBER = 10**6
"""A smaller number is no telephone and no card."""
_DIGITS = re.compile(r"\d(?:[ ().+/-]{0,3}\d){6}")


def mask_literals(code: str, redactor: Redactor) -> str:
    """Returns the program with a placeholder for each text or number that is nothing but one value to be masked."""
    if _DIGITS.search(code) is None and redactor.mask_text(code) == code:
        return code
    return _replace_literals(
        code, lambda values: [_mask_whole(*pair, redactor) for pair in zip(values, redactor.mask(values), strict=True)]
    )


def _mask_whole(value: Json, masked: Json, redactor: Redactor) -> Json:
    if isinstance(masked, str) and EXACT_PLACEHOLDER.fullmatch(masked):
        return masked
    return redactor.find_number(value) or value if _DIGITS.search(str(value)) else value


def unmask_literals(code: str, redactor: Redactor) -> str:
    """Returns the program with the real values for the placeholders of this session in its texts."""
    if next(find_placeholders(code), None) is None:
        return code
    return _replace_literals(code, redactor.unmask)


def _replace_literals(code: str, convert: Callable[[list[Json]], list[Json]]) -> str:
    try:
        found = list(_find_literals(ast.parse(code)))
        values = convert([node.value for node in found])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # running it reports the error
    changed = [
        (node, new) for node, new in zip(found, values, strict=True) if new != node.value or type(new) is not type(node.value)
    ]
    if not changed:
        return code
    lines = code.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    for node, new in sorted(changed, key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = (
            line[: node.col_offset] + repr(new).encode("utf-8", "surrogatepass") + line[node.end_col_offset :]
        )
    return b"".join(lines).decode("utf-8", "surrogatepass")


def _find_literals(tree: ast.Module) -> Iterable[ast.Constant]:
    """Yields texts and large numbers that stand on one line, except for the parts of f-strings."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or node.lineno != node.end_lineno or id(node) in parts:
            continue
        if type(node.value) is str or (type(node.value) is int and node.value >= LEAST_NUMBER):
            yield node
