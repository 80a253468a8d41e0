"""The words of a command that are plain: an option spelt in full, a value that is surely right. All others are not understood."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Options = Mapping[str, tuple[str, Callable[[str], Any]]]
"""Each option, what it is called where the question is asked, and how its value is read: nothing means that it is not plain."""


def _whole(allowed: range) -> Callable[[str], int | None]:
    return lambda text: int(text) if re.fullmatch("[0-9]{1,9}", text) and int(text) in allowed else None


def _one_of(*choices: str) -> Callable[[str], str | None]:
    return lambda text: text if text in choices else None


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


FLAG = "--json"
_BOTH: Options = {"--wait": ("wait", _seconds), FLAG: ("json", bool), "--config": ("config", Path), "-c": ("config", Path)}

SEARCH: Options = {
    **_BOTH,
    "--detail": ("detail_level", _one_of("full", "with_description", "name_only")),
    "--limit": ("limit", _whole(range(1, 51))),
    "--server": ("server", str),
    "--budget": ("budget_tokens", _whole(range(1, 1_000_000_000))),
}
DESCRIBE: Options = {**_BOTH, "--language": ("language", _one_of("python", "typescript"))}


def understood(arguments: Sequence[str]) -> dict[str, Any] | None:
    """What is asked, by name, as far as it is given; nothing if it is not plain."""
    verb, *words = arguments or [""]
    if verb == "search":
        told = _told(words, SEARCH)
        return {**told[0], "query": told[1][0]} if told and len(told[1]) == 1 else None
    if verb == "describe":
        told = _told(words, DESCRIBE)
        return {**told[0], "keys": told[1]} if told and told[1] else None
    return None


def _told(words: list[str], options: Options) -> tuple[dict[str, Any], list[str]] | None:
    """The options by name and the words that are none; nothing where one is not plain or comes twice."""
    asked, others = dict[str, Any](), list[str]()
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            others.append(word)
            continue
        name, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in options or (name == FLAG and joined) or not (name == FLAG or joined or words):
            return None
        parameter, read = options[name]
        value = value if joined or name == FLAG else words.pop(0)
        found = True if name == FLAG else read(value)
        if parameter in asked or found is None or value.startswith("-"):
            return None
        asked[parameter] = found
    return asked, others
