"""The shapes that the OpenAPI document gives to records, accounts and events: they say what is sent, field by field."""

import asyncio
import json
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import to_builtins
from pydantic import TypeAdapter, ValidationError

from gristmill.config.tree import Config
from gristmill.errors import Refused
from gristmill.events import CallFinished, CallProgressed, CallStarted, OutputWritten
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditRecord, AuditTree
from gristmill.ledger.tokens.spent_records import SpentExecution
from gristmill.ledger.tokens.token_advice import Advice, UsageHistory
from gristmill.model import LOCAL_IDENTITY, Outcome, Plan, PlannedCall
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.finished_shelf import ShelfRules
from gristmill.runs.kept_events import EVENTS
from gristmill.runs.run_registry import RunRegistry
from gristmill.runtime.recording.read_stats import compute_stats
from gristmill.runtime.runtime import Runtime
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.app import build_app
from gristmill.serve.http.http_door import HttpDoor, open_door
from gristmill.serve.http.routes.routes_events import encode_running
from gristmill.serve.http.shapes.passed_shapes import (
    AdviceView,
    AuditRecordView,
    AuditTreeView,
    RunEvent,
    RunningEvent,
    TokensView,
)

OUTCOME = Outcome(
    id="e", status="ok", success=True, output="", result=None, error=None, error_type=None, limit=None, execution_time_ms=0.0,
    memory_mb=0.0, tools_called=(), isolation="namespaces", truncated=False, state="fresh",
)  # fmt: skip
FULL = AuditRecord(
    kind="call", id="e/1", time=1.0, parent="e", session="s", code="1", code_hash="h", tool="a.b", arguments={"x": 1},
    decision="allow", rule="r", status="ok", error="no", bytes=3, ms=0.5, details={"y": [2]},
)  # fmt: skip


def check(shape: Any, value: object) -> None:
    """Fails if a value, as JSON, has a field that the shape lacks, lacks one that the shape requires, or has another type."""
    build_adapter(shape).validate_json(json.dumps(value), strict=True, extra="forbid")


@cache
def build_adapter(shape: Any) -> TypeAdapter[Any]:
    """Builds the validator of a shape once: thousands of values are checked against one."""
    return TypeAdapter[Any](shape)


@pytest.mark.parametrize("record", [FULL, AuditRecord(kind="security", id="s", time=1.0)])
def test_a_record_has_the_fields_that_the_document_names(record: AuditRecord) -> None:
    entry = AuditEntry(seq=1, hash="h", record=record)
    check(AuditRecordView, entry.fields())
    check(AuditTreeView, AuditTree(entry=entry, children=(AuditTree(entry=entry),)).fields())


def test_a_full_record_leaves_no_documented_field_out() -> None:
    assert set(AuditEntry(seq=1, hash="h", record=FULL).fields()) == set(AuditRecordView.__annotations__)


def test_a_token_account_has_the_fields_that_the_document_names() -> None:
    stats = compute_stats(UsageHistory(executions=(SpentExecution(execution="e"),), definitions={"a.b": 7}))
    check(TokensView, to_builtins(stats))
    check(AdviceView, to_builtins(Advice(kind="expose", subject="a.b", text="expose it")))


def test_a_plan_has_the_fields_that_the_document_names() -> None:
    call = PlannedCall(number=1, tool="a.b", arguments={"x": 1}, rule="ask", hash="h")
    check(Plan, to_builtins(Plan(id="p", execution="e", calls=(call,), expires=1.0)))


def test_a_field_that_the_document_does_not_name_is_noticed() -> None:
    with pytest.raises(ValidationError):
        check(AuditRecordView, {**AuditEntry(seq=1, hash="h", record=FULL).fields(), "more": 1})


async def hear(run: ActiveRun) -> list[dict[str, Any]]:
    """Everything that a listener is told."""
    return [json.loads(event.text) async for event in run.events.follow() if event is not None]


def start() -> ActiveRun:
    return ActiveRun(id="e", identity=LOCAL_IDENTITY, session=None, began=1.0)


def test_events_of_a_run_have_the_fields_that_the_document_names() -> None:
    async def listen() -> list[dict[str, Any]]:
        run = start()
        run.record_event(CallStarted(execution="e", call=1, tool="a.b"))
        for _ in range(EVENTS):
            run.record_event(OutputWritten(execution="e", text="x"))
        run.record_event(CallProgressed(execution="e", call=1, tool="a.b", progress=0.5))
        run.record_event(CallFinished(execution="e", call=1, tool="a.b", ok=True))
        run.record_event(CallStarted(execution="e", call=2, tool="a.b"))
        run.record_end("outcome", OUTCOME, 2.0)
        return await hear(run)

    heard = asyncio.run(listen())
    assert {event["type"] for event in heard} == {
        "dropped", "output", "call_progressed", "call_finished", "call_started", "outcome",
    }  # fmt: skip
    for event in heard:
        check(RunEvent, event)


@pytest.mark.parametrize("error", [Refused("no", rule="r"), ValueError("no"), None])
def test_the_problem_that_ends_a_run_has_the_fields_that_the_document_names(error: Exception | None) -> None:
    async def end() -> list[dict[str, Any]]:
        runs, run = RunRegistry(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1), start()
        task: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        run.task = cast("asyncio.Task[Outcome]", task)
        runs.admit(run)
        if error is None:
            task.cancel()
        else:
            task.set_exception(error)
        runs.mark_ended(run)
        return await hear(run)

    (event,) = asyncio.run(end())
    assert event["type"] == "problem"
    check(RunEvent, event)


def test_what_runs_now_has_the_fields_that_the_document_names() -> None:
    async def run() -> object:
        runs, run = RunRegistry(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1), start()
        runs.admit(run)
        run.record_event(OutputWritten(execution="e", text="hello"))
        run.record_event(CallStarted(execution="e", call=1, tool="a.b"))
        who = Principal(name="local", tenant="local", scopes=frozenset({"read"}))
        return json.loads(encode_running(cast("HttpDoor", SimpleNamespace(runs=runs)), who))

    check(RunningEvent, asyncio.run(run()))


def test_the_document_names_each_shape_where_it_is_sent() -> None:
    runtime = cast("Runtime", SimpleNamespace(config=Config(), store=None, metrics=None, audit=SimpleNamespace(record=None)))
    document: dict[str, Any] = build_app(open_door(runtime)).openapi()
    shapes: dict[str, Any] = document["components"]["schemas"]
    stream: dict[str, Any] = document["paths"]["/executions/{id}/events"]["get"]["responses"]
    assert shapes["AuditView"]["properties"]["records"]["items"] == {"$ref": "#/components/schemas/AuditRecordView"}
    assert shapes["StatsView"]["properties"]["tokens"]["$ref"] == "#/components/schemas/TokensView"
    assert shapes["ApprovalView"]["properties"]["plan"] == {"$ref": "#/components/schemas/Plan"}
    assert stream["200"]["content"]["text/event-stream"]["schema"]["contentSchema"] == {"$ref": "#/components/schemas/RunEvent"}
    assert list(stream["default"]["content"]) == ["application/problem+json"], "a problem is not a stream"
    references = {one.rpartition("/")[2] for one in json.dumps(document).split('"') if one.startswith("#/components/schemas/")}
    assert references <= set(shapes)
