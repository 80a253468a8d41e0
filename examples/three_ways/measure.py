"""All tasks of an app, three ways, through its real servers and the real surface."""

import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.opening import App, app_config
from examples.tasks.task import Task
from examples.tasks.truth import open_truth
from examples.three_ways.arms import Ours, Trace, direct, ours, searched
from examples.three_ways.conversation import Cost, Count
from examples.three_ways.servers import Servers, compact, open_servers
from gristmill.model import Outcome
from gristmill.runtime.runtime import Runtime
from gristmill.shaping.token_counter import load_token_counter

SETTLE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One task: what each way cost, what the program answered and what is true."""

    task: Task
    direct: Cost
    searched: Cost
    ours: Cost
    outcome: Outcome
    calls: tuple[str, ...]
    expected: Any

    @property
    def is_right(self) -> bool:
        """Whether the program's answer is the truth."""
        return self.outcome.success and self.outcome.result == self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An app that is ready: its gateway, its servers without the gateway, its truth, and idle definitions."""

    runtime: Runtime
    servers: Servers
    truth: sqlite3.Connection
    definitions: Mapping[str, str]
    count: Count

    async def measure(self, task: Task) -> Measured:
        """One task, three ways."""
        expected = task.expected(self.truth)
        answer, trace = compact(expected), Trace(self.servers)
        await task.direct(trace)
        done: Ours = await ours(self.runtime, task, answer, self.count)
        return Measured(
            task=task,
            direct=direct(trace, task, self.definitions.values(), answer, self.count),
            searched=await searched(self.runtime, trace, task, self.definitions, answer, self.count),
            ours=done.cost,
            outcome=done.outcome,
            calls=done.calls,
            expected=expected,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Tools that nobody needs: servers to attach to the gateway, and their definitions by key."""

    servers: Mapping[str, Any]
    definitions: Mapping[str, str]


@asynccontextmanager
async def open_app(app: App, *, state: Path | None = None, idle: Idle | None = None) -> AsyncGenerator[Opened]:
    """Start the app's servers twice, once behind the gateway and once bare, so that neither run sees what the other did."""
    count = load_token_counter()
    if count is None:
        raise RuntimeError("tokens cannot be counted here: rs-bpe is not installed")
    config = app_config(app, state=state, more_servers=idle.servers if idle else None)
    own = tuple(app_config(app, state=state).servers)
    async with Runtime.open(config) as runtime, open_servers(config, own) as servers:
        await runtime.settled(SETTLE_SECONDS)
        definitions = {**servers.definitions, **(idle.definitions if idle else {})}
        yield Opened(runtime=runtime, servers=servers, truth=open_truth(app), definitions=definitions, count=count)


def saving(ours_tokens: float, theirs: float) -> float:
    """How much less ours is, in percent; below zero it is dearer."""
    return round(100 * (1 - ours_tokens / theirs), 1) if theirs else 0.0


def total(costs: Sequence[Cost]) -> Cost:
    """The sum; the context is the longest."""
    return Cost(
        requests=sum(cost.requests for cost in costs),
        input=sum(cost.input for cost in costs),
        cached=round(sum(cost.cached for cost in costs), 1),
        output=sum(cost.output for cost in costs),
        context=max(cost.context for cost in costs),
    )
