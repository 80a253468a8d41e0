"""An outcome as a client gets it: typed fields for those that read them, and a short text for those that do not.

In the text our own words come first and what the program made comes last, so nothing in its output can pass for ours.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mcp_types import CallToolResult, ContentBlock, TextContent

from gristmill.model import LeftOut, Outcome, Plan
from gristmill.serve.harmless_text import harmless, harmless_json
from gristmill.serve.mcp.questions.ask_approval import plan_lines

_NO_ERROR = ("ok", "awaiting_approval")


def to_result(outcome: Outcome, *, expires: float | None = None, blocks: Sequence[ContentBlock] = ()) -> CallToolResult:
    """The answer to ``execute_code``; ``expires`` is when a new session ends, ``blocks`` are what it asked to show."""
    return CallToolResult(
        content=[TextContent(text=to_text(outcome, expires=expires)), *blocks],
        structured_content=to_fields(outcome),
        is_error=not is_fine(outcome),
    )


def is_fine(outcome: Outcome) -> bool:
    """Whether it is no error: done, or waiting for somebody."""
    return outcome.status in _NO_ERROR


def to_text(outcome: Outcome, *, expires: float | None = None) -> str:
    """The outcome as text for a model."""
    parts = [_head(outcome), *map(harmless, outcome.advice), *map(_left_out, outcome.left_out)]
    if outcome.session:
        parts.append(f"session: {outcome.session}" + (f" (kept until {_day(expires)}, longer when used)" if expires else ""))
    if outcome.plan:
        parts += _approval(outcome.plan)
    if outcome.result is not None:
        parts.append(f"result: {_json(harmless_json(outcome.result))}")
    if outcome.error:
        parts.append(f"error: {harmless(outcome.error.rstrip())}")
    if outcome.output:
        parts.append(f"output:\n{harmless(outcome.output.rstrip())}")
    return "\n".join(parts)


def to_fields(outcome: Outcome) -> dict[str, Any]:
    """The outcome as an object; what is empty is left out, except for a result: nothing, zero and no are answers."""
    fields: dict[str, Any] = {
        "status": outcome.status,
        "id": outcome.id,
        "session": outcome.session,
        "output": harmless(outcome.output),
        "error": harmless(outcome.error) if outcome.error else None,
        "error_type": outcome.error_type,
        "limit": outcome.limit,
        "truncated": outcome.truncated,
        "advice": [harmless(line) for line in outcome.advice],
        "left_out": [{"part": left.part, "path": left.path, "tokens": left.tokens, "how": left.how} for left in outcome.left_out],
        "plan": plan_lines(outcome.plan) if outcome.plan else None,
        "replayed": outcome.replay.answered if outcome.replay else None,
        "tools_called": list(outcome.tools_called),
    }
    said = {name: value for name, value in fields.items() if value not in (None, "", [], False)}
    return said if outcome.result is None else said | {"result": harmless_json(outcome.result)}


def trouble(text: str, **fields: Any) -> CallToolResult:
    """A tool error that the model can read and act on."""
    return CallToolResult(
        content=[TextContent(text=harmless(text))], structured_content={"error": harmless(text), **fields}, is_error=True
    )


def _head(outcome: Outcome) -> str:
    head = outcome.status + (f" ({outcome.limit})" if outcome.limit else "")
    if outcome.status != "ok":
        head += f", id {outcome.id}"  # what resume wants
    if outcome.replay and outcome.replay.answered:
        head += f", {outcome.replay.answered} calls answered from the run before"
    return head


def _left_out(left: LeftOut) -> str:
    where = f" in {left.path}" if left.path else ""
    return harmless(f"left out of {left.part}: {left.tokens} tokens{where}; {left.how}")


def _approval(plan: Plan) -> list[str]:
    tell = "It waits for approval. Tell the user what it wants to do and that `gristmill approvals` shows and decides it;"
    return [f"{tell} then call execute_code with resume={plan.execution}:", *plan_lines(plan)]


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
