"""What the same work costs in three ways of using tools: direct calls, search then call, and code.

Every way has a base (what each request carries: definitions) and steps (what each request adds: an answer and the text written to
get it). The number of requests is R = steps + 1, because the last request reads the last answer:

    once   = base + sum(step)
    resent = R * base + sum((R - j) * step_j),  j = 1 ... R - 1

``once`` counts a token when it first enters the context: the least that a loop with perfect caching pays. ``resent`` is the input
of a real loop, in which every request carries everything before it, one call per request. The user's words and the model's own
are the same in all ways and are left out.

The tokens saved are ``once`` of direct calls minus ``once`` of code. That number is the same wherever it is shown, because every
execution and every search has a part of it (``compute_saved``, ``compute_search_saved``), and everything else is a sum of these.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch

SURFACE_TOKENS = 400
"""Tokens that our own tools cost in every request."""


class WayCost(Struct, frozen=True, kw_only=True):
    """The input tokens of one way of working, and its number of requests."""

    once: int
    resent: int
    requests: int


class WayCosts(Struct, frozen=True, kw_only=True):
    """The costs of the three ways, for the same work."""

    direct: WayCost
    search: WayCost
    code: WayCost


class Saving(Struct, frozen=True, kw_only=True):
    """What code saved against another way; negative when code cost more."""

    once: int
    resent: int
    once_percent: float
    resent_percent: float


class Savings(Struct, frozen=True, kw_only=True):
    """Both savings, and the costs that they compare."""

    ways: WayCosts
    against_direct: Saving
    against_search: Saving

    @property
    def is_dearer(self) -> bool:
        """Returns whether code cost more than one of the other ways, counted with re-sending as in a real loop."""
        return min(self.against_direct.resent, self.against_search.resent) < 0


class CountedWork(Struct, frozen=True, kw_only=True):
    """The work that was done, and its tools. ``definitions`` holds the tokens of every tool of every server now, by key."""

    definitions: Mapping[str, int]
    executions: Sequence[SpentExecution] = ()
    calls: Sequence[SpentCall] = ()
    searches: Sequence[SpentSearch] = ()
    search_surface_tokens: int = 0
    """Tokens of a search client's own tool definitions; 0 by default, which favors that client."""


def compute_way_cost(base: int, steps: Sequence[int]) -> WayCost:
    """Computes the cost of one way with the formula above."""
    requests = len(steps) + 1
    resent = requests * base + sum((requests - place) * step for place, step in enumerate(steps, 1))
    return WayCost(once=base + sum(steps), resent=resent, requests=requests)


def compute_way_costs(work: CountedWork) -> WayCosts:
    """Computes the three ways of ``work``, one conversation.

    Only calls of executions that succeeded count for the other ways: they would have been made there too. A tool that is no
    longer defined costs no definition, so no way seems too dear.
    """
    worth = {execution.execution for execution in work.executions if execution.is_worth}
    made = [call for call in work.calls if call.execution in worth]
    calls = [_measure_call(call) for call in made]
    used = sum(work.definitions.get(tool, 0) for tool in {call.tool for call in made})
    searches = [search.query_tokens + search.answer_tokens for search in work.searches]
    ours = [search.query_tokens + search.answer_tokens for search in work.searches if not search.in_code]
    executions = [execution.code_tokens + execution.returned_tokens for execution in work.executions]
    return WayCosts(
        direct=compute_way_cost(sum(execution.definition_tokens for execution in work.executions), calls),
        search=_compute_search_cost(work.search_surface_tokens, used, searches, calls),
        code=compute_way_cost(sum(execution.surface_tokens for execution in work.executions), ours + executions),
    )


def compute_savings(*works: CountedWork) -> Savings:
    """Computes what code saved against both other ways, in one conversation or in several together."""
    found = _sum_costs([compute_way_costs(work) for work in works])
    return Savings(
        ways=found,
        against_direct=_compute_saving(found.direct, found.code),
        against_search=_compute_saving(found.search, found.code),
    )


def compute_saved(execution: SpentExecution, calls: Sequence[SpentCall]) -> int:
    """Computes what one execution saved against direct calls, each token counted once; never above 0 if it did not succeed."""
    direct = execution.definition_tokens + sum(map(_measure_call, calls)) if execution.is_worth else 0
    return direct - (execution.surface_tokens + execution.code_tokens + execution.returned_tokens)


def compute_search_saved(search: SpentSearch) -> int:
    """Computes what one search saved against direct calls: nothing, it cost the model its question and its answer."""
    return 0 if search.in_code else -(search.query_tokens + search.answer_tokens)


def _measure_call(call: SpentCall) -> int:
    return call.argument_tokens + call.result_tokens


def explain_savings(found: Savings) -> str:
    """Describes both savings in a sentence, whether positive or negative."""
    code = found.ways.code
    direct = _describe_saving(found.against_direct, "direct calls")
    search = _describe_saving(found.against_search, "search then call")
    return (
        f"Code took {code.resent:,} input tokens (o200k_base, with re-sending; {code.once:,} counted once): {direct}, {search}."
    )


def _compute_search_cost(base: int, used: int, searches: Sequence[int], calls: Sequence[int]) -> WayCost:
    """Computes search then call. Definitions of used tools come with the last search; without a search, with the base."""
    if not searches:
        return compute_way_cost(base + used, calls)
    return compute_way_cost(base, [*searches[:-1], searches[-1] + used, *calls])


def _sum_costs(found: Sequence[WayCosts]) -> WayCosts:
    direct, search, code = (
        WayCost(
            once=sum(getattr(each, name).once for each in found),
            resent=sum(getattr(each, name).resent for each in found),
            requests=sum(getattr(each, name).requests for each in found),
        )
        for name in ("direct", "search", "code")
    )
    return WayCosts(direct=direct, search=search, code=code)


def _compute_saving(other: WayCost, code: WayCost) -> Saving:
    return Saving(
        once=other.once - code.once,
        resent=other.resent - code.resent,
        once_percent=_compute_percent(other.once - code.once, other.once),
        resent_percent=_compute_percent(other.resent - code.resent, other.resent),
    )


def _compute_percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def _describe_saving(saving: Saving, other: str) -> str:
    if saving.resent < 0:
        dearer = f" (dearer by {-saving.resent_percent} %)" if saving.resent_percent else ""  # there is no percentage of zero
        return f"{-saving.resent:,} more than {other}{dearer}"
    return f"{saving.resent:,} less than {other} ({saving.resent_percent} %)"
