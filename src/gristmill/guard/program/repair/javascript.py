"""Recognises JavaScript, and writes its tool calls in Python."""

import re
from collections.abc import Iterator

MOST_CALLS = 5
MOST_CHARS = 20_000
"""How much of a program is read for its calls."""

_SIGNS = re.compile(
    r"\b(?:const|let|var)\s+[\w${\[]|console\.(?:log|error)\(|=>|\bfunction\s*\w*\s*\(|===|!==|\bnew (?:Promise|Date|Map|Set)\b"
    r"|\brequire\(|\bPromise\.\w+\(|^\s*import\s+.*\bfrom\s+['\"]|`[^`]*\$\{|^\s*(?:interface|type)\s+\w+\s*(?:=\s*)?\{|^\s*export\s+",
    re.MULTILINE,
)
_CALL = re.compile(r"(?:(?:const|let|var)\s+(\w+)[^=\n;{()]*=\s*)?(await\s+)?\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(\s*(?=[{)'\"])")
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|([A-Za-z_$][\w$]*(?:\.[\w$]+)*)|(\d[\w.]*)|([^\s\w])"""
)
_WORDS = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_OWN_OBJECTS = frozenset(
    "console JSON Math Object Array Promise Date process require if for while switch catch function parseInt parseFloat String "
    "Number Boolean fetch setTimeout".split()
)
_IMPORTED = re.compile(r"import\s*\{([^}]*)\}\s*from\s*['\"][^'\"]*servers/([\w.-]+)")
_TEXT_FIELD = re.compile(r"\$\{([\w.]+)\}")


def looks_like_javascript(code: str) -> bool:
    """Returns whether a text that is not Python is likely to be JavaScript or TypeScript."""
    return _SIGNS.search(code) is not None


def explain_javascript(code: str) -> str:
    """Returns what to write instead, with the tool calls of the program in Python."""
    lines = list(dict.fromkeys(_write_calls(code[:MOST_CHARS])))[:MOST_CALLS]
    example = "; for example:\n" + "\n".join(lines) if lines else ""
    return f"this is JavaScript, and programs are written in Python: name arguments with =, and print with print(){example}"


def _write_calls(code: str) -> Iterator[str]:
    homes = {name.split(" as ")[-1].strip(): home for names, home in _IMPORTED.findall(code) for name in names.split(",")}
    for found in _CALL.finditer(code):
        target, awaited, function = found.groups()
        parts = function.split(".")
        if parts[0] in _OWN_OBJECTS or not (awaited or function in homes or len(parts) > 1):
            continue
        arguments = _read_arguments(code, found.end())
        if arguments is None or (len(parts) > 1 and not awaited and not arguments):
            continue
        name = f"{homes[function].replace('-', '_')}.{function}" if function in homes else ".".join(parts[-2:])
        yield f"{target} = {name}({arguments})" if target else f"{name}({arguments})"


def _read_arguments(code: str, start: int) -> str | None:
    """Returns the arguments of the call at ``start`` in Python; fields of one object become named arguments."""
    words: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(code, start):
        text, name, _, sign = token.groups()
        depth += 1 if sign in ("(", "{", "[") and sign else -1 if sign in (")", "}", "]") and sign else 0
        if depth < 0:
            return _join_words(words)
        if token[0].isspace() or token[0].startswith("//"):
            continue
        words.append(_convert_text(text) if text else _WORDS.get(name, name) if name else token[0])
        if depth == 0 and sign == ";":
            return None
    return None


def _join_words(words: list[str]) -> str | None:
    if words[:1] == ["{"] and words[-1:] == ["}"]:
        fields = _split_fields(words[1:-1])
        named = [(field[0].strip("'\""), " ".join(map(str, field[2:] if field[1:2] == [":"] else field[:1]))) for field in fields]
        if all(name.isidentifier() for name, _ in named):
            return ", ".join(f"{name}={_tidy(_quote_keys(value))}" for name, value in named)
    return _tidy(_quote_keys(" ".join(words)))


def _split_fields(words: list[str]) -> list[list[str]]:
    fields: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in ("{", "[", "(")) - (word in ("}", "]", ")"))
        if word == "," and depth == 0:
            fields.append([])
        else:
            fields[-1].append(word)
    return [field for field in fields if field]


def _convert_text(text: str) -> str:
    if text[0] != "`":
        return text
    body = text[1:-1].replace('"', '\\"').replace("\n", "\\n")
    filled = _TEXT_FIELD.sub(lambda found: "{" + found[1] + "}", body)
    return f'f"{filled}"' if "${" in body else f'"{body}"'


def _quote_keys(text: str) -> str:
    return re.sub(r"(?<=[{,] )([A-Za-z_]\w*) :", r'"\1" :', text)


def _tidy(text: str) -> str:
    return re.sub(r"(?<=[\[({]) | (?=[\])},:])", "", text)
