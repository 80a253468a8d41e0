"""Asks a function of the embedding application whether a call that needs approval may do without a person. It never denies."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from gristmill.guard.policy.policy import CHANGED, Policy
from gristmill.model import Decision, Json, Tool, ToolCall

log = logging.getLogger(__name__)

REVIEW_SECONDS = 10.0
"""How long a reviewer may think; then a person is asked."""
LONGEST_REASON = 200

Reviewer = Callable[[ToolCall, Tool], str | Awaitable[str | None] | None]
"""Returns why a call, with its real arguments, may be made without a person; None leaves the decision to a person."""


class CallReviews(Struct):
    """Which calls the reviewer is shown, and what becomes of its answer. Without a reviewer a person decides about every call."""

    policy: Policy
    reviewer: Reviewer | None = None
    seconds: float = REVIEW_SECONDS

    async def find_reason(self, call: ToolCall, tool: Tool | None, decision: Decision, arguments: Json) -> str | None:
        """Returns by which words of the reviewer a call is approved, or None if a person has to decide.

        The reviewer is shown only calls that `policy.review` names, never one of a tool that is marked destructive or whose
        definition has changed. An error of it, or no answer in time, leaves the decision to a person.
        """
        if self.reviewer is None or tool is None or not self.policy.may_review(call.tool):
            return None
        if tool.annotations.get("destructiveHint") is True or decision.rule.startswith(CHANGED):
            return None
        try:
            async with asyncio.timeout(self.seconds):
                answer = await _ask_reviewer(self.reviewer, replace(call, arguments=arguments), tool)
        except Exception as error:  # the function may raise anything: then a person decides
            log.warning("the reviewer failed on a call of %s (%s): a person decides", call.tool, type(error).__name__)
            return None
        told = " ".join(answer[: 4 * LONGEST_REASON].split())[:LONGEST_REASON] if isinstance(answer, str) else ""
        return f"approved by the reviewer: {told}" if told else None


async def _ask_reviewer(reviewer: Reviewer, call: ToolCall, tool: Tool) -> object:
    if inspect.iscoroutinefunction(reviewer):
        return await reviewer(call, tool)
    answer = await asyncio.to_thread(reviewer, call, tool)
    return await answer if inspect.isawaitable(answer) else answer
