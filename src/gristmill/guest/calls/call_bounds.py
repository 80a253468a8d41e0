# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Tells a program which argument of a call is out of bounds. The host has the same bounds, and ends a run that exceeds them."""

import re

MOST_DEPTH, MOST_VALUES, MOST_ARGUMENTS, NAME_CHARACTERS = 100, 1_000_000, 1_000, 600
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1

_LONG_INTEGER = re.compile("[0-9]{19}")
_REGEX_CHARACTERS = 10_000
"""Longer texts are searched as bytes, which is faster for them."""
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")


def check_call(tool, arguments, positional, text):
    """Raises ``ValueError`` for a call that the host would not accept; ``text`` is the call as JSON."""
    if len(arguments) + len(positional) > MOST_ARGUMENTS:
        raise ValueError(f"a call has at most {MOST_ARGUMENTS:,} arguments: put them into one list or dict")
    if len(str(tool)) > NAME_CHARACTERS or any(len(str(name)) > NAME_CHARACTERS for name in arguments):
        raise ValueError(f"the name of a tool or an argument has at most {NAME_CHARACTERS} characters")
    opened = text.count("[") + text.count("{")
    if opened > MOST_DEPTH or opened + text.count(",") > MOST_VALUES or _may_have_long_integer(text):
        _check_values([(name, value) for name, value in (*enumerate(positional, 1), *arguments.items())])


def _may_have_long_integer(text):
    if len(text) <= _REGEX_CHARACTERS:
        return _LONG_INTEGER.search(text) is not None
    return b"0" * 19 in text.encode("utf-8", "replace").translate(_DIGITS_TO_ZERO)


def _check_values(level):
    """Looks at all values, one level of nesting after the other: deep values must not meet the limit of recursion here."""
    count = len(level)
    for _ in range(MOST_DEPTH + 1):
        inner = []
        for name, value in level:
            if isinstance(value, dict):
                inner += [(name, item) for item in value.values()]
            elif isinstance(value, list | tuple):
                inner += [(name, item) for item in value]
            elif isinstance(value, int) and not LEAST_INTEGER <= value <= MOST_INTEGER:
                raise ValueError(f"an integer in argument {name!r} does not fit in 64 bits: send it as text")
        count += len(inner)
        if count > MOST_VALUES:
            raise ValueError(f"the arguments hold more than {MOST_VALUES:,} values: send fewer at once")
        if not inner:
            return
        level = inner
    raise ValueError(explain_depth(f"argument {level[0][0]!r}"))


def explain_depth(what):
    """Returns the message about something that is nested too deep."""
    return f"{what} is nested deeper than {MOST_DEPTH} levels: make it flatter, or send it as text"
