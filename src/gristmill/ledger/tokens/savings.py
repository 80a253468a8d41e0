"""What the same work costs in three ways of using tools: direct calls, search then call, and code.

Every way is a base (what each request carries: definitions) and steps (what each request adds: an answer and what was written to
get it). With requests R = steps + 1, as the last one reads the last answer:

    once   = base + sum(step)
    resent = R * base + sum((R - j) * step_j),  j = 1 ... R - 1

``once`` counts a token when it first enters the context: the least that a loop with perfect caching pays. ``resent`` is the input
of a real loop, in which every request carries everything before it, one call per request. The user's words and the model's own
are the same in all ways and are left out.
"""

from collections.abc import Mapping, Sequence

from gristmill.ledger.tokens.spent_records import CallRecord, ExecutionRecord, SearchRecord
from gristmill.values import dataclass

SURFACE_TOKENS = 400
"""What our own tools cost every request, where the exact number is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Input tokens of one way, in so many requests."""

    once: int
    resent: int
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The three of them, for the same work."""

    direct: Way
    search: Way
    code: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What code saved against another way; negative when code was dearer."""

    once: int
    resent: int
    once_percent: float
    resent_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """Both savings, and the ways behind them."""

    ways: Ways
    against_direct: Saving
    against_search: Saving

    @property
    def is_dearer(self) -> bool:
        """Whether code cost more than either of the others, as a real loop pays."""
        return min(self.against_direct.resent, self.against_search.resent) < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What was done, and what it was done with. ``definitions`` holds the tokens of every tool of every server, by key."""

    definitions: Mapping[str, int]
    executions: Sequence[ExecutionRecord] = ()
    calls: Sequence[CallRecord] = ()
    searches: Sequence[SearchRecord] = ()
    surface_tokens: int = SURFACE_TOKENS
    search_surface_tokens: int = 0
    """Definitions of a search client's own tools; none by default, which favors that client."""


def way(base: int, steps: Sequence[int]) -> Way:
    """The formula above."""
    requests = len(steps) + 1
    resent = requests * base + sum((requests - place) * step for place, step in enumerate(steps, 1))
    return Way(once=base + sum(steps), resent=resent, requests=requests)


def ways(work: Work) -> Ways:
    """The three ways of ``work``. A tool that is no longer defined costs no definition: the others are not made dearer."""
    calls = [call.argument_tokens + call.result_tokens for call in work.calls]
    used = sum(work.definitions.get(tool, 0) for tool in {call.tool for call in work.calls})
    searches = [search.query_tokens + search.answer_tokens for search in work.searches]
    ours = [search.query_tokens + search.answer_tokens for search in work.searches if not search.in_code]
    executions = [execution.code_tokens + execution.returned_tokens for execution in work.executions]
    return Ways(
        direct=way(sum(work.definitions.values()), calls),
        search=_search(work.search_surface_tokens, used, searches, calls),
        code=way(work.surface_tokens, ours + executions),
    )


def savings(*works: Work) -> Savings:
    """What code saved against both others, in one conversation or in several together."""
    found = _sum([ways(work) for work in works])
    return Savings(ways=found, against_direct=_saving(found.direct, found.code), against_search=_saving(found.search, found.code))


def saved_once(execution: ExecutionRecord, calls: Sequence[CallRecord], *, definitions: int, surface: int) -> int:
    """``savings(...).against_direct.once`` of one execution, without all the rest: every answer tells it."""
    direct = definitions + sum(call.argument_tokens + call.result_tokens for call in calls)
    return direct - (surface + execution.code_tokens + execution.returned_tokens)


def explain(found: Savings) -> str:
    """Both savings in a sentence, whichever way they went."""
    code = found.ways.code
    direct = _said(found.against_direct, "direct calls")
    search = _said(found.against_search, "search then call")
    return (
        f"Code took {code.resent:,} input tokens (o200k_base, with re-sending; {code.once:,} counted once): {direct}, {search}."
    )


def _search(base: int, used: int, searches: Sequence[int], calls: Sequence[int]) -> Way:
    """Searches, then calls. The used definitions come with the last search; without any search they are there from the start."""
    if not searches:
        return way(base + used, calls)
    return way(base, [*searches[:-1], searches[-1] + used, *calls])


def _sum(found: Sequence[Ways]) -> Ways:
    direct, search, code = (
        Way(
            once=sum(getattr(each, name).once for each in found),
            resent=sum(getattr(each, name).resent for each in found),
            requests=sum(getattr(each, name).requests for each in found),
        )
        for name in ("direct", "search", "code")
    )
    return Ways(direct=direct, search=search, code=code)


def _saving(other: Way, code: Way) -> Saving:
    return Saving(
        once=other.once - code.once,
        resent=other.resent - code.resent,
        once_percent=_percent(other.once - code.once, other.once),
        resent_percent=_percent(other.resent - code.resent, other.resent),
    )


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def _said(saving: Saving, other: str) -> str:
    if saving.resent < 0:
        dearer = f" (dearer by {-saving.resent_percent} %)" if saving.resent_percent else ""  # of nothing there is no percentage
        return f"{-saving.resent:,} more than {other}{dearer}"
    return f"{saving.resent:,} less than {other} ({saving.resent_percent} %)"
