"""Recommendations out of what was recorded: tools worth exposing directly, servers never used, searches that missed."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from gristmill.ledger.tokens.spent_records import CallRecord, ExecutionRecord, SearchRecord
from gristmill.values import dataclass

OFTEN = 5
"""Executions that consist of one call of a tool, from which on exposing it is worth a thought."""
SMALL_RESULT_TOKENS = 500
MOST_MISSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One recommendation; ``tokens`` is what following it saves, where that can be said."""

    kind: Literal["expose", "unused_server", "missed_search"]
    subject: str
    text: str
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is advised upon. ``definitions`` holds the tokens of every tool by its key (``server.tool``)."""

    executions: Sequence[ExecutionRecord] = ()
    calls: Sequence[CallRecord] = ()
    searches: Sequence[SearchRecord] = ()
    definitions: Mapping[str, int]


def advise(history: History) -> tuple[Advice, ...]:
    """All recommendations, within each kind the largest saving first."""
    return (*worth_exposing(history), *unused_servers(history), *missed_searches(history))


def worth_exposing(history: History) -> tuple[Advice, ...]:
    """Tools that are mostly called alone, often, with small results, where the code around the call costs more than it saves."""
    alone = _alone(history)
    found = [_exposing(tool, pairs, history) for tool, pairs in alone.items() if len(pairs) >= OFTEN]
    return tuple(sorted(filter(None, found), key=lambda advice: -advice.tokens))


def unused_servers(history: History) -> tuple[Advice, ...]:
    """Servers whose tools were never called."""
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


def missed_searches(history: History) -> tuple[Advice, ...]:
    """Searches after which no tool that was found was called in the same session; each query once, the most frequent first."""
    misses: dict[str, list[SearchRecord]] = {}
    last = _last_calls(history.calls)
    for search in history.searches:
        if not _was_followed(search, last):
            misses.setdefault(search.query, []).append(search)
    ordered = sorted(misses.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(_miss(query, searches) for query, searches in ordered[:MOST_MISSES])


def _miss(query: str, searches: Sequence[SearchRecord]) -> Advice:
    found = searches[-1].found
    said = f"found {', '.join(found[:3])}, and none was called" if found else "found nothing"
    times = f" ({len(searches)} times)" if len(searches) > 1 else ""
    return Advice(
        kind="missed_search",
        subject=query,
        text=f"search {query!r} {said}{times}",
        tokens=sum(search.answer_tokens for search in searches if not search.in_code),
    )


Last = Mapping[tuple[str, str, str | None], float]
"""When a caller last called a tool, in any session (None) and in each."""


def _last_calls(calls: Iterable[CallRecord]) -> Last:
    last: dict[tuple[str, str, str | None], float] = {}
    for call in calls:
        for session in {None, call.session}:
            key = (call.caller, call.tool, session)
            last[key] = max(last.get(key, call.at), call.at)
    return last


def _was_followed(search: SearchRecord, last: Last) -> bool:
    # Without a session callers cannot be told apart by it, so any later call of the same caller counts.
    return any(last.get((search.caller, tool, search.session), -1.0) >= search.at for tool in search.found)


Pair = tuple[ExecutionRecord, CallRecord]


def _alone(history: History) -> dict[str, list[Pair]]:
    """Executions of exactly one call, by its tool."""
    by_execution: dict[str, list[CallRecord]] = {}
    for call in history.calls:
        by_execution.setdefault(call.execution, []).append(call)
    alone: dict[str, list[Pair]] = {}
    for execution in history.executions:
        calls = by_execution.get(execution.execution, [])
        if len(calls) == 1:
            alone.setdefault(calls[0].tool, []).append((execution, calls[0]))
    return alone


def _exposing(tool: str, pairs: Sequence[Pair], history: History) -> Advice | None:
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
