"""Writes a conversation as Markdown."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gristmill.chat.mode_prompts import EXECUTE
from gristmill.runtime.values.kept_conversations import ConversationMessage

RESULT_CHARACTERS = 4_000
"""How much of a result is written."""


def write_transcript(messages: Iterable[ConversationMessage]) -> str:
    """Returns a conversation as Markdown: questions, programs, their results, and answers."""
    parts: list[str] = []
    for message in messages:
        data: Mapping[str, Any] = message.body.get("data", {})
        text = read_content(data.get("content"))
        if message.kind == "user":
            parts.append(f"## {text}" if len(text) <= 80 and "\n" not in text else f"## Question\n\n{text}")
        elif message.kind == "result":
            cut = text[:RESULT_CHARACTERS] + ("\n…" if len(text) > RESULT_CHARACTERS else "")
            parts.append(fence(cut, "text"))
        elif message.kind == "note":
            parts.append(f"> {text}")
        else:
            parts += [part for part in (text.strip(), *_write_calls(data)) if part]
    return "\n\n".join(parts) + "\n"


def _write_calls(data: Mapping[str, Any]) -> Iterator[str]:
    for call in data.get("tool_calls") or ():
        arguments: Mapping[str, Any] = call.get("args") or {}
        if call.get("name") == EXECUTE:
            yield fence(str(arguments.get("code", "")), "python")
        else:
            yield fence(f"{call.get('name')} {json.dumps(arguments, ensure_ascii=False)}", "text")


def read_content(content: Any) -> str:
    """Returns the text of a message's content, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks: list[Any] = content or []
    return "".join(block if isinstance(block, str) else str(block.get("text", "")) for block in blocks)


def fence(text: str, language: str) -> str:
    """Returns a block of code, with more backticks than stand in it."""
    most = max((len(found) for found in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, most + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"
