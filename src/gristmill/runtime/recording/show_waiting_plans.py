"""Shows in the metrics which plans wait for a person: read from the store when somebody scrapes them."""

import asyncio

from msgspec import to_builtins

from gristmill.errors import StoreUnavailable
from gristmill.guard.policy.approvals import Approvals
from gristmill.ledger.metrics import NoMetrics, PlanFigures

ANSWER_SECONDS = 2.0
"""How long the store may take: a scrape has a limit of its own, and the other metrics must come in any case."""


async def render_metrics(metrics: NoMetrics, approvals: Approvals) -> bytes:
    """Returns the metrics with the plans that wait now; without a number for them where the store does not say."""
    if metrics.is_counting:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                metrics.set_waiting_plans(PlanFigures(**to_builtins(await approvals.count_waiting())))
        except (StoreUnavailable, TimeoutError):
            metrics.set_waiting_plans(None)
    return metrics.render()
