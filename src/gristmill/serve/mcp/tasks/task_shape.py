"""Describes a run as a task, with the field names of the tasks extension and of the experimental tasks of 2025-11-25."""

import time
from datetime import UTC, datetime
from typing import Any, Literal

from gristmill.runs.active_run import ActiveRun
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.tools.outcome_result import is_no_error

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
POLL_MS = 1_000

State = Literal["working", "input_required", "completed", "failed", "cancelled"]


def accepts_tasks(ctx: Ctx) -> bool:
    """Whether this request declares that its client accepts a task as an answer."""
    capabilities = ctx.session.client_capabilities
    return is_modern(ctx) and bool(capabilities and EXTENSION in (capabilities.extensions or {}))


def read_state(run: ActiveRun) -> State:
    """Returns the state of a run as a task. A failed program is a completed task: only a run without any answer has failed."""
    if run.ended is None:
        return "input_required" if run.questions else "working"
    if run.is_cancelled:
        return "cancelled"
    is_fault = run.problem is not None and run.problem.message is None
    return "failed" if is_fault else "completed"


def hand_out_task(run: ActiveRun) -> dict[str, Any]:
    """Returns the answer to a call whose run continues as a task, and marks the run as a task."""
    run.is_task = True
    return {"resultType": "task", **describe_task(run)}


def describe_task(run: ActiveRun) -> dict[str, Any]:
    """Returns the fields that the extension defines for every task."""
    return {**_build_common_fields(run), "ttlMs": _compute_ttl_ms(run), "pollIntervalMs": POLL_MS}


def describe_task_2025(run: ActiveRun) -> dict[str, Any]:
    """Returns the same with the names of 2025-11-25, where a failed program is a failed task."""
    state = read_state(run)
    failed = state == "completed" and (run.outcome is None or not is_no_error(run.outcome))
    return {
        **_build_common_fields(run),
        "status": "failed" if failed else state,
        "ttl": _compute_ttl_ms(run),
        "pollInterval": POLL_MS,
    }


def _build_common_fields(run: ActiveRun) -> dict[str, Any]:
    message = {"statusMessage": run.message} if run.message else {}
    return {
        "taskId": run.id,
        "status": read_state(run),
        "createdAt": _format_time(run.began),
        "lastUpdatedAt": _format_time(run.changed),
        **message,
    }


def _compute_ttl_ms(run: ActiveRun) -> int:
    """Returns the time from the beginning of a run until it may be removed. That is counted from its end, so it grows while the
    run is active."""
    end = time.time() if run.ended is None else run.ended
    return int((end - run.began + run.kept_seconds) * 1_000)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
