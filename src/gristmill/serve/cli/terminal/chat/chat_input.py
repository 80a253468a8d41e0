"""Reads messages and commands that a person types, with history and completion."""

import sys
from collections.abc import Iterator, Sequence

PROMPT, MORE = "> ", "  "
LONGEST_MESSAGE = 1_000_000


def read_typed_messages() -> Iterator[str]:
    """Yields what the person types. A backslash at the end of a line continues it; Ctrl-C discards it, Ctrl-D ends."""
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
        if lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            continue
        text = "\n".join(lines).strip()
        lines = []
        if text:
            yield text


def complete_command(line: str, word: str, commands: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Returns the commands that begin as ``word``, or what can follow a command."""
    if line == word:
        return [name for name in commands if word and name.startswith(word)]
    return [name for name in arguments if name.startswith(word)] if line.startswith("/") else []
