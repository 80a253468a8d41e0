"""The runtime as another door of the same service sees it: what runs through that door is known here, too.

So the executions of agents at ``/mcp`` are listed while they run, can be followed and cancelled, and are waited for at the end.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from gristmill.events import Event, ignore
from gristmill.model import Outcome, Plan
from gristmill.runs.fair_lanes import Ticket
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import say
from gristmill.serve.http.runs import Run

Work = Callable[..., Awaitable[Outcome]]
"""What the runtime does, given its options."""


class Watched:
    """Everything of the open runtime, with executions on the door's list."""

    def __init__(self, door: Door) -> None:
        self._door, self._runtime = door, door.runtime

    def __getattr__(self, name: str) -> Any:
        """Whatever else the runtime has."""
        return getattr(self._runtime, name)

    async def execute(self, code: str | None = None, **options: Any) -> Outcome:
        """As ``Runtime.execute``."""
        run = self._run(options, code)
        return await self._watch(run, partial(self._runtime.execute, code), options)

    async def call(self, tool: str, arguments: Any = None, **options: Any) -> Outcome:
        """As ``Runtime.call``."""
        run = self._run(options)
        return await self._watch(run, partial(self._runtime.call, tool, arguments), options)

    def _run(self, options: dict[str, Any], code: str | None = None) -> Run:
        """The run of these options, which hears what whoever else listens hears."""
        run = Run(
            id=options["execution_id"], tenant=options["tenant"], caller=options["caller"], session=options.get("session"),
            began=time.time(), code=code,
        )  # fmt: skip
        emit = options.get("emit", ignore)

        def both(event: Event) -> None:
            run.hear(event)
            emit(event)

        options["emit"] = run.hear if emit is ignore else both
        return run

    async def _watch(self, run: Run, work: Work, options: dict[str, Any]) -> Outcome:
        self._door.refuse_if_draining()
        ticket = self._door.lanes.enter(run.tenant)
        # A task of its own: whoever waits here and whoever cancels it over HTTP end the same thing.
        run.task = asyncio.create_task(self._in_turn(ticket, work, options))
        run.task.add_done_callback(lambda _: self._over(run, ticket))
        self._door.runs.admit(run)
        return await run.task

    async def _in_turn(self, ticket: Ticket, work: Work, options: dict[str, Any]) -> Outcome:
        """In the same line as everybody else; a person who is asked keeps nobody waiting."""
        if (approve := options.get("approve")) is not None:
            options = {**options, "approve": partial(self._meanwhile, ticket, approve)}
        async with self._door.lanes.turn(ticket):
            return await work(**options)

    async def _meanwhile(self, ticket: Ticket, approve: Callable[[Plan], Awaitable[Any]], plan: Plan) -> Any:
        async with self._door.lanes.away(ticket):
            return await approve(plan)

    def _over(self, run: Run, ticket: Ticket) -> None:
        self._door.lanes.leave(ticket)  # it may have ended before it began
        self._door.runs.ended(run)
        if run.outcome is not None:
            self._door.count(run.tenant, run.outcome)
        say("execution", execution=run.id, tenant=run.tenant, caller=run.caller, status=run.status, via="mcp")
