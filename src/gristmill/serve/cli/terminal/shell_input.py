"""Where the shell's input comes from: a terminal with history and completion, or a pipe."""

import ast
import codeop
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HISTORY_LINES = 2_000
PROMPT, MORE = ">>> ", "... "
DELIMITERS = " \t\n()[]{},=+-*/%<>!|&^~;'\"@"

Complete = Callable[[str, str], list[str]]
"""What the last word of a line may become."""


def piped(text: str) -> Iterator[str]:
    """Commands (lines that begin with a colon) and the programs between them."""
    program: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(":"):
            yield from _whole(program)
            program = []
            yield line.strip()
        else:
            program.append(line)
    yield from _whole(program)


def _whole(program: list[str]) -> Iterator[str]:
    text = "".join(program)
    if text.strip():
        yield text


def typed() -> Iterator[str]:
    """Commands and statements as a person types them; Ctrl-C forgets what was typed, the end of input ends it."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input(MORE if lines else PROMPT))
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            lines = []
            continue
        except EOFError:
            sys.stdout.write("\n")
            return
        text = "\n".join(lines)
        if text.startswith(":") or is_whole(text):
            lines = []
            if text.strip():
                yield text.strip() if text.startswith(":") else text


def is_whole(text: str) -> bool:
    """Whether a statement is finished; one with a mistake in it is, so that the mistake can be told."""
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compiler(text, "<shell>", "single") is not None
    except (SyntaxError, ValueError, OverflowError):
        # A `return` is allowed in our programs; Python's own reader would call it a mistake and so finished, too.
        return not re.search(r":\s*(#.*)?$", text.rsplit("\n", 1)[-1])


def use_terminal(history: Path, complete: Complete) -> Callable[[], None]:
    """Turn on line editing, history and completion; returns what saves the history. Without readline, plain lines."""
    try:
        import readline
    except ImportError:
        return lambda: None
    history.parent.mkdir(parents=True, exist_ok=True)
    history.touch(mode=0o600)  # what a person typed is theirs
    try:
        readline.read_history_file(history)
    except OSError:
        pass  # an unreadable history is no reason not to start
    found: list[str] = []

    def one(word: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            found = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return found[number] if number < len(found) else None

    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(one)
    readline.set_completer_delims(DELIMITERS)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    return lambda: readline.write_history_file(history)
