# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Finds the text of a value that has no UTF-8 form: half of a surrogate pair, as in a file name that Python could not decode."""

MOST_PATH = 200


def describe_lone_surrogate(value, what):
    """Returns the error for a value that cannot be sent: it says in which part of ``what`` the text is, and at which position."""
    path, text = _find_text(value, what, 60) or (what, "")
    position = next((index for index, sign in enumerate(text) if "\ud800" <= sign <= "\udfff"), 0)
    sign = f"U+{ord(text[position]):04X}" if text else "a surrogate"
    return (
        f"{path[:MOST_PATH]} is text that cannot be sent as UTF-8: a lone surrogate ({sign}) at position {position}; "
        "use .encode('utf-8', 'replace').decode() or 'backslashreplace' to choose what stands in its place"
    )


def make_sendable(text):
    """Returns ``text`` with lone surrogates written as escapes, for messages that must arrive."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _find_text(value, path, depth):
    if isinstance(value, str):
        return (path, value) if any("\ud800" <= sign <= "\udfff" for sign in value) else None
    if depth == 0:
        return None
    if isinstance(value, dict):
        for key, item in value.items():
            name = f"{path}[{key!r}]"
            if found := (_find_text(key, f"a key of {path}", 1) or _find_text(item, name, depth - 1)):
                return found
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if found := _find_text(item, f"{path}[{index}]", depth - 1):
                return found
    return None
