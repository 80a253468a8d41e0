"""Reads the shell's input: from a terminal with history and completion, or from a pipe."""

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
"""Takes a line and its last word; returns the completions of that word."""


def split_piped_text(text: str) -> Iterator[str]:
    """Splits piped text into commands (lines that begin with a colon) and the programs between them."""
    program: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(":"):
            yield from _join_program(program)
            program = []
            yield line.strip()
        else:
            program.append(line)
    yield from _join_program(program)


def _join_program(program: list[str]) -> Iterator[str]:
    text = "".join(program)
    if text.strip():
        yield text


def read_typed_lines(is_complete: Callable[[str], bool]) -> Iterator[str]:
    """Yields commands and statements as the user types them. Ctrl-C discards unfinished lines; end of input (Ctrl-D) ends it."""
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
        if text.startswith(":") or is_complete(text):
            lines = []
            if text.strip():
                yield text.strip() if text.startswith(":") else text


def is_complete_statement(text: str) -> bool:
    """Tells whether a statement is complete. One with a syntax error counts as complete, so that the error is reported."""
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compiler(text, "<shell>", "single") is not None
    except (SyntaxError, ValueError, OverflowError):
        # Our programs may `return` at the top level, which Python's compiler reports as an error even in an unfinished block.
        # So a text whose last line ends with a colon is taken as unfinished.
        return not re.search(r":\s*(#.*)?$", text.rsplit("\n", 1)[-1])


def is_complete_typescript(text: str) -> bool:
    """Tells whether a statement in TypeScript is complete: every bracket is closed, and the line before the last is not empty."""
    depth = sum(text.count(mark) for mark in "([{") - sum(text.count(mark) for mark in ")]}")
    return depth <= 0 or text.endswith("\n\n")


def set_up_terminal(history: Path, complete: Complete) -> Callable[[], None]:
    """Turns on line editing, history and completion; returns a function that saves the history. Does nothing without readline."""
    try:
        import readline
    except ImportError:
        return lambda: None
    history.parent.mkdir(parents=True, exist_ok=True)
    history.touch(mode=0o600)  # typed lines are private to the user
    try:
        readline.read_history_file(history)
    except OSError:
        pass  # the shell starts without history if the file cannot be read
    found: list[str] = []

    def complete_next(word: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            found = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return found[number] if number < len(found) else None

    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(complete_next)
    readline.set_completer_delims(DELIMITERS)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    return lambda: readline.write_history_file(history)
