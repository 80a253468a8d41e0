"""Executes once per key, also over the death of a process: what it left unfinished is resumed, and calls are not repeated."""

from collections.abc import Awaitable, Callable

from gristmill.errors import Interrupted
from gristmill.model import Outcome

MOST_INTERRUPTIONS = 10
"""How often one execution is resumed after processes that died in it."""

ExecuteKeyed = Callable[[str, str | None], Awaitable[Outcome]]
"""Executes under a key, or finds the outcome of that key; resumes the execution with the given id, if there is one.

Raises ``Interrupted`` if a process died while it executed under this key.
"""


async def execute_once(execute: ExecuteKeyed, key: str) -> Outcome:
    """Executes under ``key``; what a dead process left unfinished under it is resumed, under a key of its own.

    Raises:
        Interrupted: it was interrupted too often.
        Conflict: it runs in another process now, or was another request.
    """
    resume: str | None = None
    for number in range(MOST_INTERRUPTIONS):
        try:
            return await execute(key if resume is None else f"{key}/again {number}", resume)
        except Interrupted as interrupted:
            resume = interrupted.execution
    raise Interrupted(f"this was interrupted {MOST_INTERRUPTIONS} times; look at execution {resume}", execution=str(resume))
