"""A gateway in a process of its own, to be killed: ``python -m tests.e2e.gateway CONFIG ID [RESUME]``, the program on stdin.

It approves the whole plan, once, and says on stdout when it was asked and when a call was answered.
"""

import asyncio
import sys
from typing import Any

from gristmill.events import CallFinished, Event
from gristmill.model import Plan
from gristmill.runtime.runtime import Runtime


async def main(config: str, name: str) -> None:
    """Execute the program; whoever started us may kill us at any word."""

    async def approve(plan: Plan) -> Any:
        print("asked", len(plan.calls), flush=True)
        return "all"

    def tell(event: Event) -> None:
        if isinstance(event, CallFinished):
            print("called", event.tool, flush=True)

    async with Runtime.open(config) as runtime:
        await runtime.settled(30)
        outcome = await runtime.execute(sys.stdin.read(), approve=approve, emit=tell, execution_id=name)
        print("ended", outcome.status, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
