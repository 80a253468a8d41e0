"""Derives advice from what was recorded: tools worth exposing directly, servers never used, searches that missed."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch

OFTEN_EXECUTIONS = 5
"""Number of executions that consist of one call of a tool, from which on it is worth considering to expose the tool."""
SMALL_RESULT_TOKENS = 500
MOST_MISSES = 20


class Advice(Struct, frozen=True, kw_only=True):
    """One recommendation; ``tokens`` is what following it saves, where that is known."""

    kind: Literal["expose", "unused_server", "missed_search"]
    subject: str
    text: str
    tokens: int = 0


class UsageHistory(Struct, frozen=True, kw_only=True):
    """The usage that advice is based on. ``definitions`` holds the tokens of every tool by its key (``server.tool``)."""

    executions: Sequence[SpentExecution] = ()
    calls: Sequence[SpentCall] = ()
    searches: Sequence[SpentSearch] = ()
    definitions: Mapping[str, int]


def give_advice(history: UsageHistory) -> tuple[Advice, ...]:
    """Returns all recommendations; within each kind the largest saving comes first."""
    return (*find_tools_to_expose(history), *find_unused_servers(history), *find_missed_searches(history))


def find_tools_to_expose(history: UsageHistory) -> tuple[Advice, ...]:
    """Finds tools that are mostly called alone, often, with small results, where code around a call costs more than it saves."""
    alone = _find_lone_calls(history)
    found = [_advise_exposing(tool, pairs, history) for tool, pairs in alone.items() if len(pairs) >= OFTEN_EXECUTIONS]
    return tuple(sorted(filter(None, found), key=lambda advice: -advice.tokens))


def find_unused_servers(history: UsageHistory) -> tuple[Advice, ...]:
    """Finds servers whose tools were never called."""
    used = {call.server for call in history.calls}
    tokens: dict[str, int] = {}
    for key, cost in history.definitions.items():
        server = key.partition(".")[0]
        tokens[server] = tokens.get(server, 0) + cost
    unused = sorted((server for server in tokens if server not in used), key=lambda server: -tokens[server])
    return tuple(
        Advice(
            kind="unused_server",
            subject=server,
            text=f"{server}: none of its tools was called; "
            f"its definitions are {tokens[server]:,} tokens for a client that loads them",
            tokens=tokens[server],
        )
        for server in unused
    )


def find_missed_searches(history: UsageHistory) -> tuple[Advice, ...]:
    """Finds searches after which none of the found tools was called in the same session; each query once, most frequent first."""
    misses: dict[str, list[SpentSearch]] = {}
    last = _find_last_calls(history.calls)
    for search in history.searches:
        if not _was_followed_by_call(search, last):
            misses.setdefault(search.query, []).append(search)
    ordered = sorted(misses.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(_describe_miss(query, searches) for query, searches in ordered[:MOST_MISSES])


def _describe_miss(query: str, searches: Sequence[SpentSearch]) -> Advice:
    found = searches[-1].found
    said = f"found {', '.join(found[:3])}, and none was called" if found else "found nothing"
    times = f" ({len(searches)} times)" if len(searches) > 1 else ""
    return Advice(
        kind="missed_search",
        subject=query,
        text=f"search {query!r} {said}{times}",
        tokens=sum(search.answer_tokens for search in searches if not search.in_code),
    )


LastCalls = Mapping[tuple[str, str, str | None], float]
"""When a caller last called a tool: in any session (None), and in each session."""


def _find_last_calls(calls: Iterable[SpentCall]) -> LastCalls:
    last: dict[tuple[str, str, str | None], float] = {}
    for call in calls:
        for session in {None, call.session}:
            key = (call.caller, call.tool, session)
            last[key] = max(last.get(key, call.at), call.at)
    return last


def _was_followed_by_call(search: SpentSearch, last: LastCalls) -> bool:
    # A search without a session cannot be matched by session, so any later call of the same caller counts.
    return any(last.get((search.caller, tool, search.session), -1.0) >= search.at for tool in search.found)


LoneCall = tuple[SpentExecution, SpentCall]


def _find_lone_calls(history: UsageHistory) -> dict[str, list[LoneCall]]:
    """Groups the executions of exactly one call by the tool that was called."""
    by_execution: dict[str, list[SpentCall]] = {}
    for call in history.calls:
        by_execution.setdefault(call.execution, []).append(call)
    alone: dict[str, list[LoneCall]] = {}
    for execution in history.executions:
        calls = by_execution.get(execution.execution, [])
        if len(calls) == 1:
            alone.setdefault(calls[0].tool, []).append((execution, calls[0]))
    return alone


def _advise_exposing(tool: str, pairs: Sequence[LoneCall], history: UsageHistory) -> Advice | None:
    executions = {call.execution for call in history.calls if call.tool == tool}
    result = int(median(call.result_tokens for _, call in pairs))
    saved = sum(
        execution.code_tokens + execution.returned_tokens - call.argument_tokens - call.result_tokens for execution, call in pairs
    )
    # Its definition would be in the context from then on, once for every session that used it.
    sessions = {execution.session or execution.execution for execution, _ in pairs}
    saved -= history.definitions.get(tool, 0) * len(sessions)
    if result > SMALL_RESULT_TOKENS or len(pairs) * 2 < len(executions) or saved <= 0:
        return None
    text = (
        f"{tool}: called alone in {len(pairs)} of {len(executions)} executions, results of {result:,} tokens (median); "
        f"offered directly it would have cost {saved:,} tokens less"
    )
    return Advice(kind="expose", subject=tool, text=text, tokens=saved)
