"""``/executions``: what runs, what ran, and events as they happen."""

from collections.abc import AsyncGenerator, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from gristmill.errors import Busy, NotFound
from gristmill.ledger.audit.audit_entries import ACCEPTED, INTERRUPTED, AuditEntry, AuditFilter
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import ExecutionsView, ExecutionView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import EXECUTE, SEE, StillKnown
from gristmill.serve.http.runs import Heard, Run, may_see
from gristmill.serve.http.start_execution import instance_of

STREAMS = 200
"""Event streams of one tenant at the same time."""
MOST_CALLS = 1_000
"""Calls that are shown of an execution that was interrupted."""
_OURS = ("from servers", "from skills")
ExecutionId = Annotated[str, Path(min_length=1, max_length=128)]
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Server-sent events."}
}


def add_executions(routes: APIRouter, door: Door) -> None:
    """The routes of executions."""

    @routes.get("/executions", tags=["executions"])
    async def executions(
        who: Annotated[Principal, SEE],
        status: Annotated[str | None, Query(max_length=100)] = None,
        session: Annotated[str | None, Query(max_length=128)] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    ) -> ExecutionsView:
        """What runs now, then what is on record, the newest first: yours; your tenant's with the scope `read`."""
        now = door.runs.running(who) if after is None and status in (None, "running") else []
        running = [_of_run(run) for run in now if session in (None, run.session)]
        owner = who.caller if who.scopes.isdisjoint({"read", "admin"}) else None
        # What another process promised is open on record, whether it runs or was lost with that process.
        kept = ACCEPTED if status == "running" else status
        wanted = AuditFilter(
            kind="execution", tenant=who.tenant, caller=owner, status=kept, session=session, promises="open"
        )  # fmt: skip
        found = await door.runtime.audit.list(wanted, limit=limit, after=after)
        elsewhere = await _elsewhere(door, found)
        views = [_of_record(entry, elsewhere) for entry in found]
        told = [view for view in views if status in (None, view.status) and not _is_under_way(door, view)]
        return ExecutionsView(executions=running + told, next=found[-1].seq if len(found) == limit else None)

    @routes.get("/executions/{id}", tags=["executions"])
    async def execution(id: ExecutionId, who: Annotated[Principal, SEE]) -> ExecutionView:  # noqa: A002
        """One execution: its outcome while that is kept, and its record with every call."""
        run = door.runs.peek(id)
        if run is None or not may_see(who, run.tenant, run.caller):
            return await _on_record(door, id, who)
        if run.ended is None:
            # What a colleague sent is shown once it is masked.
            return _of_run(run).model_copy(update={"code": run.code} if run.caller == who.caller else {})
        try:
            found = await _on_record(door, id, who)
        except NotFound:
            return _of_run(run)  # it ended before anything was recorded
        return found if run.outcome is None else found.model_copy(update={"outcome": run.outcome, "status": run.outcome.status})

    @routes.delete("/executions/{id}", status_code=204, tags=["executions"])
    async def cancel(id: ExecutionId, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002
        """End an execution that is under way; its record says so."""
        run = door.runs.get(id, who)
        if run.caller != who.caller:
            who.needs("admin")
        run.cancel()
        return Response(status_code=204)

    @routes.get("/executions/{id}/events", tags=["executions"], response_class=StreamingResponse, responses=EVENTS)
    async def events(
        id: ExecutionId,  # noqa: A002
        request: Request,
        who: Annotated[Principal, SEE],
        last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,12}$")] = None,
    ) -> StreamingResponse:
        """Output and calls as they happen: first what was, then what is, and at the end the outcome."""
        run = door.runs.get(id, who)
        if door.streams[who.tenant] >= STREAMS:
            raise Busy(f"{STREAMS} streams of yours are open", limit="streams", value=STREAMS, retry_after=5.0)
        heard = run.follow(int(last_event_id or 0))
        return StreamingResponse(_lines(door, who.tenant, heard, StillKnown(door, request)), media_type="text/event-stream")


async def _lines(door: Door, tenant: str, events: AsyncGenerator[Heard | None], is_known: StillKnown) -> AsyncGenerator[bytes]:
    door.streams[tenant] += 1
    try:
        async for heard in events:
            if not await is_known():
                return
            if heard is None:
                yield b": quiet\n\n"
            else:
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (heard.number, heard.name.encode(), heard.text)
    finally:
        door.streams[tenant] -= 1


async def _on_record(door: Door, id_: str, who: Principal) -> ExecutionView:
    missing = NotFound(f"there is no execution {id_[:80]!r} of yours")
    await door.runtime.audit.flush()  # what has just ended is to be found
    try:
        tree = await door.runtime.audit.show(id_, tenant=who.tenant)
    except NotFound:
        return await _promised(door, id_, who, missing)
    record = tree.entry.record
    if record.kind != "execution" or not may_see(who, record.tenant, record.caller):
        raise missing
    calls = [child.fields() for child in tree.children if child.entry.record.kind == "call"]
    outcome = await door.runtime.outcome(id_, tenant=record.tenant, caller=record.caller)
    return _of_record(tree.entry).model_copy(
        update={"code": record.code, "error": record.error, "calls": calls, "outcome": outcome}
    )  # fmt: skip


async def _promised(door: Door, id_: str, who: Principal, missing: NotFound) -> ExecutionView:
    """It was accepted, and the process died before its end: it is not lost, it can be resumed."""
    audit = door.runtime.audit
    try:
        entry = (await audit.show(f"{id_}/{ACCEPTED}", tenant=who.tenant)).entry
    except NotFound:
        raise missing from None
    if not may_see(who, entry.record.tenant, entry.record.caller):
        raise missing
    made = await audit.list(AuditFilter(kind="call", tenant=who.tenant, parent=id_), limit=MOST_CALLS)
    view = _of_record(entry, await _elsewhere(door, [entry]))
    return view.model_copy(update={"calls": [call.fields() for call in reversed(made)]})


async def _elsewhere(door: Door, entries: Iterable[AuditEntry]) -> frozenset[str]:
    """Other processes that live, of those that made these promises."""
    made_by = {instance_of(entry) for entry in entries if entry.record.status == ACCEPTED}
    return frozenset([one for one in made_by if one is not None and await door.runtime.lives_elsewhere(one)])


def _of_run(run: Run) -> ExecutionView:
    return ExecutionView(
        id=run.id, status=run.status, session=run.session, caller=run.caller, time=run.began, outcome=run.outcome
    )  # fmt: skip


def _is_under_way(door: Door, view: ExecutionView) -> bool:
    """Whether a promise is just being kept; it stands among those that run."""
    run = door.runs.peek(view.id) if view.status == INTERRUPTED else None
    return run is not None and run.ended is None


def _of_record(entry: AuditEntry, elsewhere: frozenset[str] = frozenset()) -> ExecutionView:
    record = entry.record
    was_promised = record.status == ACCEPTED
    promised = "running" if instance_of(entry) in elsewhere else INTERRUPTED
    return ExecutionView.model_validate(
        {
            "id": (was_promised and record.parent) or record.id, "session": record.session, "caller": record.caller,
            "status": promised if was_promised else record.status or "unknown",
            "time": record.time, "ms": record.ms, "seq": entry.seq, "about": _about(record.code),
        }
    )  # fmt: skip


def _about(code: str | None) -> str | None:
    """The first line that says something: which tools it uses, or what it does."""
    lines = [line.strip()[:120] for line in (code or "")[:4_000].splitlines()]
    told = [line for line in lines if line and not line.startswith("#")]
    telling = [line for line in told if line.startswith(_OURS) or not line.startswith(("import ", "from "))]
    return next(iter([*telling, *told]), None)
