"""Routes of ``/executions``: running and recorded executions, their cancellation and their events."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Annotated, cast

from fastapi import APIRouter, Header, Path, Query, Request, Response

from gristmill.errors import Busy, NotFound
from gristmill.model import Identity, Json, Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.idempotency import read_instance
from gristmill.runs.kept_events import KeptEvent
from gristmill.runs.start_run import RunRequest, begin_execution, refuse_if_running, store_outcome_again, wait_for_outcome
from gristmill.runtime.values.audit_values import ACCEPTED, INTERRUPTED, AuditEntry, AuditFilter
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE, EXECUTE_OR_READ, ListenerCheck
from gristmill.serve.http.routes.event_stream import EventStream, describe_stream
from gristmill.serve.http.run_viewer import build_viewer
from gristmill.serve.http.shapes.api_shapes import ExecutionsView, ExecutionView, RevertAsked
from gristmill.serve.http.shapes.passed_shapes import RunEvent

MOST_STREAMS = 200
"""How many event streams one tenant may have open."""
LONGEST_TITLE = 200
"""Most characters of the title of an execution."""
MOST_CALLS = 1_000
"""How many calls are shown of an execution that was interrupted."""
_TOOL_IMPORTS = ("from servers", "from skills")
ExecutionId = Annotated[str, Path(min_length=1, max_length=128)]


def add_executions(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of executions."""

    @routes.get("/executions", tags=["executions"])
    async def executions(
        who: Annotated[Principal, EXECUTE_OR_READ],
        status: Annotated[str | None, Query(max_length=100)] = None,
        session: Annotated[str | None, Query(max_length=128)] = None,
        caller: Annotated[str | None, Query(max_length=128)] = None,
        word: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
        since: Annotated[float | None, Query(ge=0, le=1e11)] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    ) -> ExecutionsView:
        """Lists running executions, then recorded ones, newest first: your own, or all of your tenant with the scope `read`.

        `word` is any part of the record: of the code, the error, a tool, the session, the caller; the newest 100,000 records are
        looked through. `since` is in seconds since 1970.
        """
        now = door.runs.list_running(build_viewer(who)) if after is None and word is None and status in (None, "running") else []
        running = [
            _build_run_view(run, who) for run in now if session in (None, run.session) and caller in (None, run.identity.caller)
        ]
        owner = who.identity if who.scopes.isdisjoint({"read", "admin"}) else None
        # An execution that another process accepted has an open record, whether it runs or was lost with that process.
        kept = ACCEPTED if status == "running" else status
        wanted = AuditFilter(
            kind="execution", tenant=who.tenant, owner=owner, status=kept, session=session, caller=caller, word=word, since=since,
            promises="open",
        )  # fmt: skip
        found = await door.runtime.audit.list(wanted, limit=limit, after=after)
        elsewhere = await _find_live_processes(door, found)
        views = [_build_record_view(entry, elsewhere) for entry in found]
        shown = [view for view in views if status in (None, view.status) and not _is_running_here(door, view)]
        return ExecutionsView(executions=running + shown, next=found[-1].seq if len(found) == limit else None)

    @routes.get("/executions/{id}", tags=["executions"])
    async def execution(id: ExecutionId, who: Annotated[Principal, EXECUTE_OR_READ]) -> ExecutionView:  # noqa: A002
        """Returns one execution: its record with every call, and its outcome as long as that is kept."""
        run = door.runs.peek(id)
        if run is None:
            viewer = build_viewer(who)
            id = await door.runtime.find_execution_id(id, identity=who.identity, whole_tenant=viewer.whole_tenant)  # noqa: A001
            run = door.runs.peek(id)
        if run is None or not build_viewer(who).may_see(run.identity):
            return await _find_recorded(door, id, who)
        if run.ended is None:
            # Other callers see the code only after it was masked in the record.
            return _build_run_view(run, who).model_copy(update={"code": run.code} if run.identity == who.identity else {})
        await store_outcome_again(door.served, run)
        return await _show_ended(door, run, who)

    @routes.delete("/executions/{id}", status_code=204, tags=["executions"])
    async def cancel(id: ExecutionId, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002
        """Cancels a running execution; its record says so."""
        run = door.runs.get(id, build_viewer(who))
        if run.identity != who.identity:
            who.require_scope("admin")
        run.cancel()
        return Response(status_code=204)

    @routes.get("/executions/{id}/events", tags=["executions"], response_class=EventStream, responses=describe_stream(RunEvent))
    async def events(
        id: ExecutionId,  # noqa: A002
        request: Request,
        who: Annotated[Principal, EXECUTE_OR_READ],
        last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,12}$")] = None,
    ) -> EventStream:
        """Streams the output and the calls of an execution: first past events, then new ones, and at the end the outcome."""
        run = door.runs.get(id, build_viewer(who))
        if door.streams[who.tenant] >= MOST_STREAMS:
            raise Busy(
                f"{MOST_STREAMS} of your streams are open: close one first", limit="streams", value=MOST_STREAMS, retry_after=5.0
            )
        kept = run.events.follow(int(last_event_id or 0))
        return EventStream(_stream_events(door, who.tenant, kept, ListenerCheck(door, request)))


def add_revert(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the route that undoes an execution."""

    @routes.post("/executions/{id}/revert", tags=["executions"])
    async def revert(id: ExecutionId, asked: RevertAsked, who: Annotated[Principal, EXECUTE]) -> Outcome:  # noqa: A002
        """Undoes what your execution wrote, as `policy.revert` says: an execution of its own, whose calls wait for approval."""
        found = await door.runtime.prepare_revert(id, identity=who.identity)
        await refuse_if_running(door.served, found.execution, who.identity)
        limits = asked.limits.model_dump(exclude_none=True) if asked.limits else None
        request = RunRequest(
            identity=who.identity, code=found.code, resume=found.id, parent=found.execution, limits=limits,
            title=f"undo of {found.execution}",
        )  # fmt: skip
        run, _ = await begin_execution(door.served, request)
        return await wait_for_outcome(door.served, run)


async def _stream_events(
    door: HttpDoor, tenant: str, events: AsyncGenerator[KeptEvent | None], is_known: ListenerCheck
) -> AsyncGenerator[bytes]:
    door.streams[tenant] += 1
    try:
        async for event in events:
            if not await is_known():
                return
            if event is None:
                yield b": quiet\n\n"
            else:
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.name.encode(), event.text)
    finally:
        door.streams[tenant] -= 1


async def _show_ended(door: HttpDoor, run: ActiveRun, who: Principal) -> ExecutionView:
    if run.outcome is not None:
        run.outcome = await door.runtime.fill_tokens_saved(run.outcome, tenant=run.identity.tenant)
    try:
        found = await _find_recorded(door, run.id, who)
    except NotFound:
        return _build_run_view(run, who)  # it ended before anything was recorded
    return found if run.outcome is None else found.model_copy(update={"outcome": run.outcome, "status": run.outcome.status})


async def _find_recorded(door: HttpDoor, id_: str, who: Principal) -> ExecutionView:
    missing = NotFound(f"you have no execution {id_[:80]!r}")
    await door.runtime.audit.flush()  # so that an execution that has just ended is found
    try:
        tree = await door.runtime.audit.show(id_, tenant=who.tenant)
    except NotFound:
        return await _find_accepted(door, id_, who, missing)
    record = tree.entry.record
    owner = Identity(tenant=record.tenant, caller=record.caller)
    if record.kind != "execution" or not build_viewer(who).may_see(owner):
        raise missing
    calls = [child.fields() for child in tree.children if child.entry.record.kind == "call"]
    outcome = await door.runtime.outcome(id_, identity=owner)
    return _build_record_view(tree.entry).model_copy(
        update={"code": record.code, "error": record.error, "calls": calls, "outcome": outcome}
    )  # fmt: skip


async def _find_accepted(door: HttpDoor, id_: str, who: Principal, missing: NotFound) -> ExecutionView:
    """Returns an execution that was accepted and has no final record: it runs in another process, or that process ended before
    it. It is not lost, it can be resumed."""
    audit = door.runtime.audit
    try:
        entry = (await audit.show(f"{id_}/{ACCEPTED}", tenant=who.tenant)).entry
    except NotFound:
        raise missing from None
    if not build_viewer(who).may_see(Identity(tenant=entry.record.tenant, caller=entry.record.caller)):
        raise missing
    made = await audit.list(AuditFilter(kind="call", tenant=who.tenant, parent=id_), limit=MOST_CALLS)
    view = _build_record_view(entry, await _find_live_processes(door, [entry]))
    return view.model_copy(update={"calls": [call.fields() for call in reversed(made)]})


async def _find_live_processes(door: HttpDoor, entries: Iterable[AuditEntry]) -> frozenset[str]:
    """Returns the ids of those other processes that accepted these executions and are still alive."""
    made_by = {read_instance(entry) for entry in entries if entry.record.status == ACCEPTED}
    return frozenset([one for one in made_by if one is not None and await door.runtime.lives_elsewhere(one)])


def _build_run_view(run: ActiveRun, who: Principal) -> ExecutionView:
    return ExecutionView(
        id=run.id, status=run.status, session=run.session, caller=run.identity.caller, time=run.began, outcome=run.outcome,
        title=run.title if run.identity == who.identity else None,  # other callers see it only after it was masked
    )  # fmt: skip


def _is_running_here(door: HttpDoor, view: ExecutionView) -> bool:
    """Whether an accepted execution runs in this process; then it is already listed among the running ones."""
    run = door.runs.peek(view.id) if view.status == INTERRUPTED else None
    return run is not None and run.ended is None


def _build_record_view(entry: AuditEntry, elsewhere: frozenset[str] = frozenset()) -> ExecutionView:
    record = entry.record
    was_promised = record.status == ACCEPTED
    promised = "running" if read_instance(entry) in elsewhere else INTERRUPTED
    return ExecutionView.model_validate(
        {
            "id": (was_promised and record.parent) or record.id, "session": record.session, "caller": record.caller,
            "status": promised if was_promised else record.status or "unknown",
            "time": record.time, "ms": record.ms, "seq": entry.seq, "about": _find_telling_line(record.code),
            "title": _write_title(record.details), "reason": str(record.details.get("reason") or "") or None,
        }
    )  # fmt: skip


def _write_title(details: Mapping[str, Json]) -> str | None:
    """Returns what its caller calls an execution; else which tools it called, or wants to call: `crm.find x 3, crm.send`."""
    if isinstance(given := details.get("title"), str) and given:
        return given
    parts: list[str] = []
    for name, words in (("tools", ""), ("planned", "asks for ")):
        counts = details.get(name)
        found = cast("dict[str, object]", counts) if isinstance(counts, dict) else {}
        tools = [tool if count == 1 else f"{tool} x {count}" for tool, count in found.items()]
        parts += [words + ", ".join(tools)] if tools else []
    return "; ".join(parts)[:LONGEST_TITLE] or None


def _find_telling_line(code: str | None) -> str | None:
    """Returns the first telling line of the code: which tools it uses, or what it does."""
    lines = [line.strip()[:120] for line in (code or "")[:4_000].splitlines()]
    written = [line for line in lines if line and not line.startswith("#")]
    telling = [line for line in written if line.startswith(_TOOL_IMPORTS) or not line.startswith(("import ", "from "))]
    return next(iter([*telling, *written]), None)
