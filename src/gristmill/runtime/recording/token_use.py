"""Names what a program did by its calls, so that savings can be shown by use."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from gristmill.ledger.metrics import NoMetrics, TokenFigures
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution
from gristmill.runtime.recording.token_accounts import CountListener

Use = Literal["filtering", "workflow", "polling", "other"]
POLLS = 3
"""So many calls of one tool with arguments of one size, and answers of about one size, are polling."""
FILTERED = 5
"""A program filters if its results have this many times the tokens of what it returned."""
NO_ARM = "none"


def name_use(execution: SpentExecution, calls: Sequence[SpentCall]) -> Use:
    """Names what a program did: it asked the same again and again, returned little of much, or joined several tools."""
    if not calls:
        return "other"
    repeated = Counter((call.tool, call.argument_bytes, call.result_bytes // 16) for call in calls)
    if max(repeated.values()) >= POLLS and len({call.tool for call in calls}) == 1:
        return "polling"
    if sum(call.result_tokens for call in calls) >= FILTERED * max(1, execution.returned_tokens):
        return "filtering"
    return "workflow" if len({call.tool for call in calls}) > 1 else "other"


def build_count_listener(metrics: NoMetrics, price: float) -> CountListener:
    """Returns a listener that counts tokens and money in the metrics; ``price`` is in dollars for a million tokens."""
    count: Callable[[TokenFigures], None] = metrics.count_tokens

    def listen(tenant: str, execution: SpentExecution, calls: tuple[SpentCall, ...], saved: int) -> None:
        code = execution.surface_tokens + execution.code_tokens + execution.returned_tokens
        count(
            TokenFigures(
                tenant=tenant, arm=execution.arm or NO_ARM, use=name_use(execution, calls), code=code,
                direct=max(0, code + saved), dollars_per_token=price / 1_000_000,
            )
        )  # fmt: skip

    return listen
