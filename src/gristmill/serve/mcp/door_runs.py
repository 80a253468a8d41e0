"""Gives the MCP door the runs of its process: those that another door opened, or its own, once the runtime is open."""

from typing import TYPE_CHECKING

from gristmill.rollout.execution_arms import ExecutionArms
from gristmill.rollout.open_rollouts import build_rollouts, follow_config
from gristmill.rollout.rollouts import Rollouts
from gristmill.runs.served_runs import open_runs
from gristmill.serve.mcp.get_runtime import Hall

if TYPE_CHECKING:
    from gristmill.runs.served_runs import ServedRuns

VIA = "mcp"
"""The way of arrival of the runs of this door."""


class DoorRuns:
    """The runs of one door."""

    def __init__(self, served: "ServedRuns | None" = None) -> None:
        self._served = served
        self._rollouts: Rollouts | None = None

    async def get(self, hall: Hall) -> "ServedRuns":
        """Returns the runs; opens them with the first call, for the runtime that ``hall`` returns.

        Raises:
            Error: the runtime could not be opened.
        """
        runtime = await hall()
        if self._served is None:
            served = open_runs(runtime, keeps_events=False)  # no other door is there through which they could be followed
            if runtime.config.rollout.name:
                self._rollouts = build_rollouts(runtime)
                follow_config(self._rollouts, runtime)
                served.arms = ExecutionArms(self._rollouts, runtime)
            self._served = served  # only now: if the rollout cannot be used, later calls must not go on without it
        return self._served

    async def close(self, reason: str | None = None) -> None:
        """Cancels the runs that came through this door; ``reason`` is what their records say."""
        if self._served is not None:
            await self._served.registry.cancel_all(VIA, reason)
        if self._rollouts is not None:
            await self._rollouts.stop_watch()
