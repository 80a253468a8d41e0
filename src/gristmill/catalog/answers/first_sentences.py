"""Takes sentences from descriptions: on one line, visible, cut to a length, and those that tell a tool from others."""

import re
from collections import Counter
from collections.abc import Sequence

from gristmill.model import Tool

LINE_CHARS = 160
_SENTENCES = 4  # of a description that are looked at
_MANY = 3
"""From so many tools of a server on, a sentence is about the server and not about the tool."""


def take_first_sentence(text: str, limit: int = LINE_CHARS) -> str:
    """Returns the first sentence of ``text`` without line breaks or invisible characters: a comment cannot become code."""
    return cut_text(re.split(r"(?<=[.!?])\s", make_visible(text[: limit * 20]), maxsplit=1)[0], limit)


def split_sentences(text: str) -> list[str]:
    """Returns the first sentences of ``text``, each on one line."""
    return re.split(r"(?<=[.!?])\s", make_visible(text[: LINE_CHARS * 20]), maxsplit=_SENTENCES)[:_SENTENCES]


def make_visible(text: str) -> str:
    """Returns ``text`` on one line, without invisible characters."""
    seen = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(seen.split())


def cut_text(text: str, limit: int) -> str:
    """Returns at most ``limit`` characters of ``text``; the last one says that there is more."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def find_repeated(tools: Sequence[Tool]) -> frozenset[str]:
    """Returns the sentences that stand in the descriptions of several of these tools."""
    counts = Counter(sentence for tool in tools for sentence in dict.fromkeys(split_sentences(tool.description)))
    return frozenset(sentence for sentence, count in counts.items() if count > 1)


def find_common(tool: Tool, of_server: Sequence[Tool]) -> frozenset[str]:
    """Returns the sentences of ``tool`` that many tools of its server have: they are about the server."""
    return frozenset(
        sentence
        for sentence in split_sentences(tool.description)
        if sentence and sum(sentence in each.description for each in of_server) >= _MANY
    )
