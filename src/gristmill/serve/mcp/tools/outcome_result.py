"""Converts an outcome to a tool result: typed fields for clients that read them, and a short text for those that do not."""

from collections.abc import Sequence
from typing import Any

from mcp_types import (
    Annotations,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from gristmill.harmless_text import neutralize_json, neutralize_text
from gristmill.model import Outcome
from gristmill.runs.texts.outcome_text import render_text
from gristmill.runs.texts.plan_text import describe_plan
from gristmill.runtime.hints.give_hints import explain_error

_NO_ERROR = ("ok", "awaiting_approval")


def build_tool_result(outcome: Outcome, *, expires: float | None = None, blocks: Sequence[ContentBlock] = ()) -> CallToolResult:
    """Returns the answer to ``execute_code``; ``expires`` is when a new session ends, ``blocks`` are images and sounds."""
    return CallToolResult(
        content=[TextContent(text=render_text(outcome, expires=expires)), *blocks, *_build_content_blocks(outcome)],
        structured_content=render_fields(outcome),
        is_error=not is_no_error(outcome),
    )


def _build_content_blocks(outcome: Outcome) -> list[ContentBlock]:
    """Returns the pictures and tables of an outcome. The rows of a table are in the result: its HTML is for the user's screen."""
    blocks: list[ContentBlock] = []
    for number, part in enumerate(outcome.content, 1):
        if part.type == "image":
            blocks.append(ImageContent(data=part.data, mime_type=part.mime_type))
        else:
            uri = f"gristmill://outcomes/{outcome.id}/{number}"
            table = TextResourceContents(uri=uri, mime_type=part.mime_type, text=neutralize_text(part.data))
            blocks.append(EmbeddedResource(resource=table, annotations=Annotations(audience=["user"])))
    return blocks


def is_no_error(outcome: Outcome) -> bool:
    """Whether the outcome is not an error: the program succeeded, or waits for approval."""
    return outcome.status in _NO_ERROR


def render_fields(outcome: Outcome) -> dict[str, Any]:
    """Returns the outcome as an object. Empty fields are left out, except for the result: empty, 0 and false are answers."""
    fields: dict[str, Any] = {
        "status": outcome.status,
        "id": outcome.id,
        "session": outcome.session,
        "output": neutralize_text(outcome.output),
        "error": neutralize_text(outcome.error) if outcome.error else None,
        "error_type": outcome.error_type,
        "limit": outcome.limit,
        "truncated": outcome.truncated,
        "advice": [neutralize_text(line) for line in outcome.advice],
        "repaired": list(outcome.repaired),
        "left_out": [{"part": left.part, "path": left.path, "tokens": left.tokens, "how": left.how} for left in outcome.left_out],
        "plan": describe_plan(outcome.plan) if outcome.plan else None,
        "replayed": outcome.replay.answered if outcome.replay else None,
        "writes": [{"tool": write.tool, "made": write.made, "unknown": write.unknown} for write in outcome.writes],
        "tools_called": list(outcome.tools_called),
    }
    filled = {name: value for name, value in fields.items() if value not in (None, "", [], False)}
    return filled if outcome.result is None else filled | {"result": neutralize_json(outcome.result)}


def build_error_result(text: str, **fields: Any) -> CallToolResult:
    """Returns a tool error that the model can read and act on, with the hint for errors of this ``code``."""
    error, hint = neutralize_text(text), explain_error(str(fields.get("code")), text)
    return CallToolResult(
        content=[TextContent(text=f"{error}\nhint: {hint}" if hint else error)],
        structured_content={"error": error, **fields, **({"advice": [hint]} if hint else {})},
        is_error=True,
    )
