"""Chooses how a question is answered, from what the token accounts know: by a program, or by direct calls of tools."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Literal

from msgspec import Struct

from gristmill.ledger.tokens.spent_records import SpentCall

CONSIDERED_TOOLS = 3
"""How many of the tools that a search finds for the question are considered."""
SMALL_RESULT_TOKENS = 500
"""The mean size of answers up to which a direct call costs less than a program around it."""
FEW_CALLS = 3
"""The mean number of calls per program up to which direct calls cost fewer requests than they save."""
MOST_DEFINITION_TOKENS = 2_000


class ChosenMode(Struct, frozen=True, kw_only=True):
    """The mode, a sentence that says why, and the keys of the tools to offer directly."""

    mode: Literal["code", "direct"]
    why: str
    tools: tuple[str, ...] = ()


def choose_unknown_mode(why: str) -> ChosenMode:
    """Returns code, for lack of knowledge: for large results and loops it costs least, and it is never refused."""
    return ChosenMode(mode="code", why=why)


def choose_mode(found: Sequence[str], definitions: Mapping[str, int], calls: Sequence[SpentCall]) -> ChosenMode:
    """Chooses for a question whose search ``found`` these keys, by the ``calls`` on record; ``definitions`` are tokens by key."""
    considered = tuple(found[:CONSIDERED_TOOLS])
    if not considered:
        return choose_unknown_mode("no tool was found for the question")
    known = [call for call in calls if call.tool in considered and call.status == "ok"]
    if not known:
        return choose_unknown_mode(f"none of {', '.join(considered)} was called before, so their answers may be of any size")
    size = mean(call.result_tokens for call in known)
    if size > SMALL_RESULT_TOKENS:
        return ChosenMode(
            mode="code", why=f"answers of {_name_largest(known)} have {size:,.0f} tokens on average: a program filters them"
        )
    executions = {call.execution for call in known}
    many = mean(sum(call.execution == one for call in calls) for one in executions)
    if many > FEW_CALLS:
        return ChosenMode(mode="code", why=f"programs with these tools made {many:.0f} calls each: a program loops and joins")
    offered = tuple(key for key in considered if any(call.tool == key for call in known))
    if sum(definitions.get(key, 0) for key in offered) > MOST_DEFINITION_TOKENS:
        return ChosenMode(mode="code", why=f"the definitions of {', '.join(offered)} cost more than a program that calls them")
    why = f"{', '.join(offered)} answered with {size:,.0f} tokens on average, {many:.1f} calls at a time: direct calls cost less"
    return ChosenMode(mode="direct", why=why, tools=offered)


def _name_largest(calls: Sequence[SpentCall]) -> str:
    return max(calls, key=lambda call: call.result_tokens).tool
