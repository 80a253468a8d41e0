"""A run as a task, in the words of the tasks extension and of the experimental tasks of 2025-11-25."""

import time
from datetime import UTC, datetime
from typing import Any, Literal

from gristmill.errors import Error
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.runs import KEPT_SECONDS
from gristmill.serve.mcp.tools.outcome_result import is_fine

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
POLL_MS = 1_000

State = Literal["working", "input_required", "completed", "failed", "cancelled"]


def has_tasks(ctx: Ctx) -> bool:
    """Whether this request says that its client takes a task for an answer."""
    capabilities = ctx.session.client_capabilities
    return is_modern(ctx) and bool(capabilities and EXTENSION in (capabilities.extensions or {}))


def state_of(run: Run) -> State:
    """Where it stands. A program that failed is a run that completed: only what is no answer at all has failed."""
    if not run.task.done():
        return "input_required" if run.questions else "working"
    if run.task.cancelled():
        return "cancelled"
    error = run.task.exception()
    return "completed" if error is None or isinstance(error, Error) else "failed"


def handle(run: Run) -> dict[str, Any]:
    """The answer to a call whose run goes on as a task."""
    run.is_task = True
    return {"resultType": "task", **about(run)}


def about(run: Run) -> dict[str, Any]:
    """What the extension says about every task."""
    return {**_common(run), "ttlMs": _ttl_ms(run), "pollIntervalMs": POLL_MS}


def about_2025(run: Run) -> dict[str, Any]:
    """The same with the names of 2025-11-25, where a program that failed is a task that failed."""
    state = state_of(run)
    failed = state == "completed" and (run.task.exception() is not None or not is_fine(run.task.result()))
    return {**_common(run), "status": "failed" if failed else state, "ttl": _ttl_ms(run), "pollInterval": POLL_MS}


def _common(run: Run) -> dict[str, Any]:
    said = {"statusMessage": run.message} if run.message else {}
    return {
        "taskId": run.id,
        "status": state_of(run),
        "createdAt": _moment(run.began),
        "lastUpdatedAt": _moment(run.changed),
        **said,
    }


def _ttl_ms(run: Run) -> int:
    """From its beginning until it may be forgotten: that time is counted from its end, so it grows while there is none."""
    end = run.changed if run.task.done() else time.time()
    return int((end - run.began + KEPT_SECONDS) * 1_000)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
