"""Recognises JavaScript, and writes its tool calls in Python."""

import re

MOST_CALLS = 5

_SIGNS = re.compile(
    r"\b(?:const|let|var)\s+[\w${\[]|console\.log\(|=>|\bfunction\s*\w*\s*\(|===|!==|\bnew Promise\b|\brequire\("
    r"|^import\s+.*\bfrom\s+['\"]|`[^`]*\$\{",
    re.MULTILINE,
)
_CALL = re.compile(
    r"(?:(?:const|let|var)\s+(\w+)[^=\n]*=\s*)?(?:await\s+)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\(\s*(\{[^{}]*\})?\s*\)"
)
_FIELD = re.compile(r"""\s*(?:(['"])([\w-]+)\1|(\w+))\s*:\s*([^,]+?)\s*(?:,|$)""")
_WORDS = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_OWN_OBJECTS = frozenset({"console", "JSON", "Math", "Object", "Array", "Promise", "Date", "process"})


def looks_like_javascript(code: str) -> bool:
    """Returns whether a text that is not Python is likely to be JavaScript or TypeScript."""
    return _SIGNS.search(code) is not None


def explain_javascript(code: str) -> str:
    """Returns what to write instead, with the tool calls of the program in Python."""
    calls = [_write_call(*found.groups()) for found in _CALL.finditer(code) if found[2].split(".")[0] not in _OWN_OBJECTS]
    example = "; for example:\n" + "\n".join(dict.fromkeys(calls[:MOST_CALLS])) if calls else ""
    return f"this is JavaScript, and programs are written in Python: name arguments with =, and print with print(){example}"


def _write_call(name: str | None, function: str, fields: str | None) -> str:
    found = _FIELD.findall((fields or "{}")[1:-1])
    arguments = ", ".join(f"{quoted or plain}={_WORDS.get(value, value)}" for _, quoted, plain, value in found)
    parts = function.split(".")
    call = f"{'.'.join(parts[-2:])}({arguments})"
    return f"{name} = {call}" if name else call
