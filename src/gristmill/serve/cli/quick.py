"""The quick way through ``gristmill search``: where the last catalogue can tell, nothing else is loaded.

It understands only what is plain. Anything else - a misspelt option, a value out of range, a question for help - is left to the
command line proper, which also says what is wrong; a test holds the table below against its declarations.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill import __version__

DETAILS = ("full", "with_description", "name_only")
LIMITS, BUDGETS = range(1, 51), range(1, 1_000_000_000)


def answered(arguments: Sequence[str]) -> bool:
    """Whether this was a search and has been answered; if not, nothing has been printed."""
    asked = understood(arguments)
    if asked is None or "_GRISTMILL_COMPLETE" in os.environ:
        return False
    json = asked.pop("json", False)
    asked.pop("wait", None)  # for servers that nobody knows yet: then the last catalogue cannot tell
    from gristmill.runtime.last_search import search_last

    found = search_last(**asked, version=__version__)
    if found is None or not found.hits:
        return False
    from gristmill.serve.cli.found import print_found

    print_found(found, json=json)
    return True


def understood(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The question and its options by name, as far as they are given; nothing if they are not plain."""
    if arguments[:1] != ["search"]:
        return None
    words, asked = list(arguments[1:]), dict[str, Any]()
    while words:
        word = words.pop(0)
        name, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        kind = OPTIONS.get(name)
        if word.startswith("-") and name != "--json":
            if kind is None or not (joined or words):
                return None
            value = value if joined else words.pop(0)
        parameter, read = kind or ("query", str)
        read_value = True if name == "--json" else read(value if kind else word)
        if parameter in asked or read_value is None or (name == "--json" and joined) or value.startswith("-"):
            return None
        asked[parameter] = read_value
    return asked if "query" in asked else None


def _whole(allowed: range) -> Callable[[str], int | None]:
    return lambda text: int(text) if re.fullmatch("[0-9]{1,9}", text) and int(text) in allowed else None


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "--detail": ("detail_level", lambda text: text if text in DETAILS else None),
    "--limit": ("limit", _whole(LIMITS)),
    "--server": ("server", str),
    "--budget": ("budget_tokens", _whole(BUDGETS)),
    "--wait": ("wait", _seconds),
    "--json": ("json", bool),
    "--config": ("config", Path),
    "-c": ("config", Path),
}
"""Each option, what it is called where the search is, and how its value is read: nothing means that it is not plain."""


def main() -> bool:
    """`answered` by the words of this process; whoever stops listening or waiting is let go, as by the command line proper."""
    try:
        return answered(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        sys.exit(141)
