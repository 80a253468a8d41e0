"""What the doors of one process share: the queue, the registry of runs, the counts of tenants, and whether it is ending."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Busy
from gristmill.model import Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.fair_lanes import FairLanes, LaneRules
from gristmill.runs.finished_shelf import ShelfRules
from gristmill.runs.run_arms import RunArms
from gristmill.runs.run_registry import RunRegistry
from gristmill.runs.tenant_counts import TenantCounts
from gristmill.runtime.runtime import Runtime

MOST_TENANTS = 10_000
"""How many tenants are counted; a token may name any tenant."""


def ignore_end(_run: ActiveRun) -> None:
    """Does nothing when a run has ended."""


@dataclass(slots=True, kw_only=True, eq=False)
class ServedRuns:
    """The executions of one process, through every door."""

    runtime: Runtime
    config: ServeConfig
    lanes: FairLanes
    registry: RunRegistry
    counts: dict[str, TenantCounts] = field(default_factory=dict[str, TenantCounts])
    draining: bool = False
    keeps_events: bool = True
    """Whether the events of every run are kept, so that clients can follow it."""
    on_end: Callable[[ActiveRun], None] = ignore_end
    arms: RunArms = field(default_factory=RunArms)

    def refuse_if_draining(self) -> None:
        """Refuses new work while the service is ending.

        Raises:
            Busy: the service was told to end.
        """
        if self.draining:
            text = "the service is ending: send this to another instance, or try again soon"
            raise Busy(text, limit="serve.drain_seconds", value=self.config.drain_seconds, retry_after=5.0)

    def count_outcome(self, tenant: str, outcome: Outcome) -> None:
        """Counts an outcome for ``tenant``."""
        while tenant not in self.counts and len(self.counts) >= MOST_TENANTS:
            del self.counts[next(iter(self.counts))]
        self.counts.setdefault(tenant, TenantCounts()).add(outcome)

    def lend_place(self, run: ActiveRun) -> AbstractAsyncContextManager[None]:
        """Gives the place of ``run`` to other executions while a person is asked."""
        return self.lanes.lend_place(run.ticket)


def open_runs(runtime: Runtime, *, keeps_events: bool = True) -> ServedRuns:
    """Builds the runs of an open runtime, with the limits of its configuration."""
    return build_runs(runtime, runtime.config.serve, places=runtime.config.sandbox.concurrency, keeps_events=keeps_events)


def build_runs(runtime: Runtime, config: ServeConfig, *, places: int, keeps_events: bool = True) -> ServedRuns:
    """Builds the runs with the limits of ``config``; ``places`` executions may run at once."""
    lanes = LaneRules(
        places=places, per_tenant=config.concurrency or places, waiting=config.waiting, seconds=config.waiting_seconds
    )
    kept = ShelfRules(seconds=config.kept_seconds, most=config.kept_most, bytes=config.kept_mb << 20)
    return ServedRuns(
        runtime=runtime, config=config, lanes=FairLanes(lanes), registry=RunRegistry(kept, background=config.background),
        keeps_events=keeps_events,
    )  # fmt: skip
