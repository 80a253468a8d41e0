"""Repairs a program that does not parse. Only a text that parses afterwards is taken; what parses already is never touched."""

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from gristmill.guard.program.check_program import parse_program
from gristmill.guard.program.repair.characters import (
    decode_entities,
    narrow_punctuation,
    remove_invisible,
    straighten_quotes,
)
from gristmill.guard.program.repair.escapes import decode_everywhere, decode_outside_strings
from gristmill.guard.program.repair.line_marks import (
    drop_line_numbers,
    drop_prompts,
    drop_shell_lines,
    drop_signatures,
    remove_indent,
)
from gristmill.guard.program.repair.unfinished_end import drop_unfinished_end
from gristmill.guard.program.repair.wrappings import (
    drop_language_line,
    drop_prose,
    is_json_object,
    take_from_fences,
    take_from_json,
    take_from_tags,
)

SHELL_STEP = "lines for a notebook or a shell were removed: packages cannot be installed from code"
MOST_CHARS = 200_000
MOST_STEPS = 4
MOST_ATTEMPTS = 400

_REPAIRS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("the program was taken out of JSON", take_from_json),
    ("the program was taken out of Markdown fences", take_from_fences),
    ("the program was taken out of tags", take_from_tags),
    ("invisible characters were removed", remove_invisible),
    ("the common indent was removed", remove_indent),
    ("prompts and their output were removed", drop_prompts),
    ("line numbers were removed", drop_line_numbers),
    ("escapes such as \\n were decoded", decode_outside_strings),
    ("escapes such as \\n were decoded", decode_everywhere),
    ("typographic quotes were replaced", straighten_quotes),
    ("wide or typographic punctuation was replaced", narrow_punctuation),
    ("entities such as &lt; were decoded", decode_entities),
    (SHELL_STEP, drop_shell_lines),
    ("signatures copied from a search answer were removed", drop_signatures),
    ("sentences around the program were removed", drop_prose),
    ("the last statement was removed, because it was not finished", drop_unfinished_end),
)
"""What was done, and the function that does it; in the order in which they are tried."""


class RepairedProgram(Struct, frozen=True, kw_only=True):
    """A program that parses, and what was done to it."""

    code: str
    steps: tuple[str, ...]


def unwrap_program(code: str) -> RepairedProgram | None:
    """Returns the program inside of a text that parses as Python and would not do what it says.

    Such texts are a JSON object with ``code`` in it, a JSON array or string of lines, cells that begin with ``In [1]:``, and a
    program below the word ``python``.
    """
    begin = code.lstrip()[:4]
    if begin == "In [":
        found, step = drop_prompts(code), "prompts and their output were removed"
    elif begin[:2].lower() == "py" and (below := drop_language_line(code)) is not None:
        found, step = below, "the name of the language was removed"
    elif (
        begin[:1] in ("{", "[")
        or (begin[:1] == '"' and begin[:3] != '"""' and "\\n" in code)
        or (code.rstrip().endswith("}") and "code" in code)
    ):
        found, step = take_from_json(code), "the program was taken out of JSON"
        if (
            found is not None
            and not is_json_object(code)
            and not _does_something(found, least=2 if begin[:1] == "[" and "{" not in code else 1)
        ):
            found = None  # a value that the program is meant to return
    else:
        return None
    return RepairedProgram(code=found, steps=(step,)) if found is not None else None


def repair_program(code: str) -> RepairedProgram | None:
    """Returns the program with the fewest repairs that parses, or None if there is none, or if ``code`` parses as it is."""
    if len(code) > MOST_CHARS or _parses(code):
        return None
    for attempt, (text, steps) in enumerate(_list_attempts(code)):
        if attempt == MOST_ATTEMPTS:
            return None
        if text.strip() and _parses(text):
            inner = unwrap_program(text)  # a fence around JSON
            if inner is not None and not _parses(inner.code):
                continue
            steps = (*steps, *(inner.steps if inner else ()))
            return RepairedProgram(code=inner.code if inner else text, steps=tuple(dict.fromkeys(steps)))
    return None


def _list_attempts(code: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields texts after one repair, then after two, and so on."""
    level: list[tuple[str, tuple[str, ...]]] = [(code, ())]
    seen = {code}
    for _ in range(MOST_STEPS):
        following: list[tuple[str, tuple[str, ...]]] = []
        for text, steps in level:
            for step, repair in _REPAIRS:
                changed = repair(text)
                if changed is not None and changed not in seen:
                    seen.add(changed)
                    following.append((changed, (*steps, step)))
                    yield following[-1]
        level = following


def _parses(text: str) -> bool:
    try:
        parse_program(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _does_something(text: str, *, least: int) -> bool:
    """Returns whether a text is a program of at least so many statements that calls, imports or assigns, and not only words."""
    try:
        statements = parse_program(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    is_word = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Name | ast.Constant | ast.Tuple) for each in statements]
    return len(statements) >= least and not all(is_word)
