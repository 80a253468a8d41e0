"""Opens all rooms from a configuration: the one composition root."""

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from msgspec.structs import replace

from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.config.tree import Config
from gristmill.events import Emit, ignore_event
from gristmill.guard.mask.clean_errors import CleanErrors
from gristmill.guard.policy.policy import Policy
from gristmill.guard.policy.standing_rules import StandingRules
from gristmill.guard.quota.quota_layer import QuotaLayer
from gristmill.ledger.anomalies import Anomalies
from gristmill.ledger.audit.security_notices import SecurityNotices
from gristmill.ledger.metrics import NoMetrics
from gristmill.ledger.tokens.savings import SURFACE_TOKENS
from gristmill.ledger.trace import NoTraces, open_traces
from gristmill.model import ToolCall
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER as RESERVED
from gristmill.runtime.calls.answer_discovery import AnswerDiscovery
from gristmill.runtime.calls.answer_session import AnswerSession
from gristmill.runtime.calls.broker import Broker
from gristmill.runtime.calls.decide_call import find_no_rule
from gristmill.runtime.calls.mask_and_flow_layers import MaskAndFlowLayers
from gristmill.runtime.calls.recorded_names import build_name_tool
from gristmill.runtime.calls.reuse_answers import AnswerCache
from gristmill.runtime.calls.review_calls import CallReviews, Reviewer
from gristmill.runtime.execution.answer.content_masks import ContentMasks
from gristmill.runtime.execution.answer.present_report import Presenter, Save
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.execution.intake import Intake, PublicAddress
from gristmill.runtime.execution.plan_differences import PlanDifferences
from gristmill.runtime.execution.program.check_code import CodeChecks
from gristmill.runtime.hints.give_hints import HintGiver
from gristmill.runtime.open.ended_sessions import EndedSessions
from gristmill.runtime.open.open_durable import DurableStores, open_durable_stores
from gristmill.runtime.open.open_servers import build_tool_layers, group_by_server, open_discovery, open_library, open_servers
from gristmill.runtime.open.own_folders import list_own_folders
from gristmill.runtime.open.sandboxes.open_sandboxes import OpenSandboxes, open_sandboxes
from gristmill.runtime.open.sandboxes.typescript_sandboxes import TypeScriptSandboxes
from gristmill.runtime.open.session_stores import SessionStores
from gristmill.runtime.recording.plan_notices import open_plan_notices
from gristmill.runtime.recording.record_searches import SearchRecorder
from gristmill.runtime.recording.recorder import Recorder
from gristmill.runtime.recording.token_accounts import TokenAccounts
from gristmill.runtime.recording.token_use import build_count_listener
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.sandbox.base import Pool
from gristmill.sandbox.managed_packages import find_packages_folder
from gristmill.sandbox.pool.kept_interpreters import KeptInterpreters
from gristmill.store.serving_processes import ServingProcesses
from gristmill.store.store_identity import read_store_id
from gristmill.upstream.base import Ask, Upstreams, list_reachable
from gristmill.upstream.execution_callers import ExecutionCallers
from gristmill.upstream.python_functions import Function

__all__ = ["open_discovery", "open_rooms"]


@asynccontextmanager
async def open_rooms(
    config: Config,
    tools: Mapping[str, Function],
    sandboxes: OpenSandboxes = open_sandboxes,
    *,
    emit: Emit = ignore_event,
    ask: Ask | None = None,
    serving: bool = False,
    review: Reviewer | None = None,
) -> AsyncGenerator[Rooms]:
    """Opens every room, and closes them in the opposite order; ``sandboxes`` opens other sandboxes in place of ours.

    A runtime that is ``serving`` others counts metrics for them, and answers only when the record of what it did is stored.

    Raises:
        SandboxUnavailable: the configured isolation is not available; nothing was started.
        ConfigError: a package that code may import is not installed.
        StoreUnavailable: the store cannot be opened or written.
    """
    # Scanning every definition takes time: a gateway that keeps running does it, a single run does not.
    notices = SecurityNotices(time.time)
    callers = ExecutionCallers(emit, ask, notices if serving else ignore_event)
    async with (
        open_servers(config, tools, callers, serving=serving) as upstreams,
        open_library(config, upstreams, callers) as library,
        open_durable_stores(config) as durable,
        sandboxes(config) as (pool, kept),
    ):
        rooms = _build_rooms(config, set(group_by_server(tools)), upstreams, library, durable, pool, kept, serving=serving)
        if rooms.broker.reviews is not None:
            rooms.broker.reviews.reviewer = review
        notices.start_recording(rooms.recorder.record_security)
        try:
            async with (
                rooms.serving_processes.announce(),
                open_plan_notices(config, durable.approvals, rooms.intake.address.build_plan_url),
                _keep_running(rooms.ended_sessions.run_forever()),
            ):
                yield replace(rooms, callers=callers)
        finally:
            await rooms.typescript.close()
            await rooms.recorder.accounts.wait_until_counted()


@asynccontextmanager
async def _keep_running(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Runs ``work`` in the background while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _build_rooms(
    config: Config, trusted: set[str], upstreams: Upstreams, library: ToolLibrary, durable: DurableStores, pool: Pool,
    kept: KeptInterpreters, *, serving: bool,
) -> Rooms:  # fmt: skip
    stores, policy, mask_and_flow = (
        durable.session_stores,
        Policy.from_config(config.policy),
        MaskAndFlowLayers(config, durable.session_stores.seen_servers, durable.session_stores.workspaces),
    )
    discovery, processes = (
        Discovery(upstreams, library),
        ServingProcesses(durable.store, durable.session_stores.clock_guard.estimate),
    )
    session = AnswerSession(stores, library.find)
    intake = Intake(
        store=durable.store, journal=durable.journal, approvals=durable.approvals, redactors=durable.redactors, policy=policy,
        sessions=stores.sessions, contexts=config.serve.contexts, address=PublicAddress(url=config.serve.public_url or None),
    )  # fmt: skip
    sizes = {"warm": config.sandbox.warm, "concurrency": config.sandbox.concurrency}
    servers = (*(upstream.name for upstream in upstreams), RESERVED)
    metrics = NoMetrics()
    if serving and config.records.metrics:
        from gristmill.ledger.prometheus_metrics import Metrics  # a single run counts nothing

        metrics = Metrics(pool.states, sizes, servers, stores.clock_guard.may_expire, partial(list_reachable, upstreams))
    accounts = TokenAccounts(durable.spent, lambda: library.catalog, SURFACE_TOKENS, metrics.count_saved_tokens)
    accounts.listeners.append(build_count_listener(metrics, config.records.token_price))
    searches = SearchRecorder(audit=durable.audit, accounts=accounts, redactors=durable.redactors, clock=time.time)
    durable.decision_listeners.listeners.append(lambda approval: metrics.count_approval(approval.standing))
    broker = Broker(
        upstreams=upstreams, library=library, session=session,
        discovery=AnswerDiscovery(discovery, session.find_skills, searches.record_code_search),
        policy=policy, quota=QuotaLayer(config.quota, time.monotonic), journal=durable.journal, checker=SchemaChecker(),
        cache=AnswerCache(on_read=lambda hit: metrics.count_cache_request(hit=hit)), trusted=trusted,
        note_run=intake.note_run, make_mask_layer=mask_and_flow.make_mask_layer, make_media_layer=mask_and_flow.make_media_layer,
        find_rule=partial(_find_standing_rule, durable.approvals.rules) if config.policy.standing_rules else find_no_rule,
        make_flow_layer=mask_and_flow.make_flow_layer, make_label_layer=mask_and_flow.make_label_layer,
        tool_layers=build_tool_layers(config, library), reviews=CallReviews(policy),
        clean_errors=CleanErrors(durable.credentials, list_own_folders(config.state_dir)),
    )  # fmt: skip
    typescript = TypeScriptSandboxes(config, pool.isolation)
    site = find_packages_folder(config.sandbox.venv, config.sandbox.packages, config.state_dir)
    check_code = CodeChecks(library, upstreams, stores.workspaces, site, config.guard)
    name_tool = build_name_tool(library.find_key)
    return Rooms(
        config=config, pool=pool, interpreters=kept, typescript=typescript, session_stores=stores, upstreams=upstreams,
        library=library, discovery=discovery,
        broker=broker, intake=intake, check_code=check_code,
        spent=durable.spent, mask_and_flow=mask_and_flow, search_recorder=searches,
        content_masks=ContentMasks(redactors=durable.redactors, config=config.mask),
        serving_processes=processes,
        ended_sessions=_build_ended_sessions(config, durable, processes, kept, typescript, mask_and_flow),
        presenter=Presenter(
            config=config.shaping, masks=config.mask.mode != "off",
            place=partial(_open_save_place, stores, mask_and_flow, config.sessions.results_hours),
        ),
        recorder=Recorder(
            audit=durable.audit, note_run=intake.note_run, accounts=accounts, outcomes=durable.outcomes,
            name_tool=name_tool,
            metrics=metrics, anomalies=Anomalies(), traces=open_traces() if config.records.traces else NoTraces(), wait=serving,
        ),
        hints=HintGiver(
            catalog=lambda: library.visible, learned=lambda: library.learned, masks=config.mask.mode != "off",
            server_names=lambda: tuple(upstream.name for upstream in upstreams),
            list_packages=check_code.list_packages,
        ),
        plan_differences=PlanDifferences(upstreams=upstreams, library=library, decide=broker.decide),
    )  # fmt: skip


async def _find_standing_rule(rules: StandingRules, call: ToolCall, definition: str, space: str | None) -> str | None:
    """Returns by which rule, made by a person while approving, a call needs no approval."""
    found = await rules.covers(call.identity, space, call.tool, definition)
    return None if found is None else f"always allowed by {found.made_by} ({found.id})"


def _build_ended_sessions(
    config: Config, durable: DurableStores, processes: ServingProcesses, kept: KeptInterpreters, typescript: TypeScriptSandboxes,
    mask_and_flow: MaskAndFlowLayers,
) -> EndedSessions:  # fmt: skip
    async def drop_session(space: str) -> None:
        await kept.drop(space)
        await typescript.drop(space)
        mask_and_flow.forget_session(space)
        durable.redactors.forget_session(space)

    stores = durable.session_stores
    return EndedSessions(
        sessions=stores.sessions, endings=stores.endings, processes=processes, workspaces=stores.workspaces,
        list_kept=lambda: (*kept.names, *typescript.names), drop_session=drop_session,
        read_store_id=partial(read_store_id, durable.store),
        state_dir=config.state_dir,
    )  # fmt: skip


async def _open_save_place(
    stores: SessionStores, mask_and_flow: MaskAndFlowLayers, results_hours: float, run: ExecutionState, session: str
) -> Save:
    """Returns how a run saves what is too long for its answer: in the files of its session, or of one named after the run."""
    execution = run.execution
    life = results_hours * 3_600 if run.space is None else None
    opened = await stores.sessions.open(session, identity=execution.identity, life=life)
    files = stores.files(opened)
    await mask_and_flow.pass_on_seen(run, opened.key)
    return lambda path, content: files.write(path, content).path
