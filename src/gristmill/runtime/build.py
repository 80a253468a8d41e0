"""Config becomes opened rooms: the one composition root."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial

from gristmill.catalog.types.schema_checker import Checker
from gristmill.config.tree import Config
from gristmill.events import Emit, ignore
from gristmill.guard.policy.policy import Policy
from gristmill.guard.quota.quota_layer import Quota
from gristmill.ledger.anomalies import Anomalies
from gristmill.ledger.audit.security_notices import Notices
from gristmill.ledger.metrics import Metrics, NoMetrics
from gristmill.ledger.tokens.savings import SURFACE_TOKENS
from gristmill.ledger.trace import NoTraces, open_traces
from gristmill.runtime.calls.answer_discovery import SERVER as RESERVED
from gristmill.runtime.calls.answer_discovery import AnswerDiscovery
from gristmill.runtime.calls.answer_session import AnswerSession
from gristmill.runtime.calls.broker import Broker
from gristmill.runtime.calls.mask_and_flow_layers import Shields
from gristmill.runtime.calls.reuse_answers import Cache
from gristmill.runtime.execution.check_code import Checks
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.execution.intake import Desk
from gristmill.runtime.execution.plan_differences import Differences
from gristmill.runtime.execution.present_report import Presenter, Save
from gristmill.runtime.open.open_durable import Durable, open_durable
from gristmill.runtime.open.open_sandboxes import OpenSandboxes, open_sandboxes
from gristmill.runtime.open.open_servers import by_server, known_tools, open_discovery, open_library, open_servers
from gristmill.runtime.open.session_stores import Keeping
from gristmill.runtime.recording.record_searches import Searches
from gristmill.runtime.recording.recorder import Recorder
from gristmill.runtime.recording.token_accounts import Accounts
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import Library
from gristmill.sandbox.base import Pool
from gristmill.sandbox.managed_packages import site_of
from gristmill.sandbox.pool.kept_interpreters import Kept
from gristmill.store.serving_processes import Instances
from gristmill.upstream.base import Ask, Upstreams
from gristmill.upstream.execution_callers import Callers
from gristmill.upstream.python_functions import Function

__all__ = ["open_discovery", "open_rooms"]


@asynccontextmanager
async def open_rooms(
    config: Config,
    tools: Mapping[str, Function],
    sandboxes: OpenSandboxes = open_sandboxes,
    *,
    emit: Emit = ignore,
    ask: Ask | None = None,
    serving: bool = False,
) -> AsyncGenerator[Rooms]:
    """Open every room, and close them in the opposite order; ``sandboxes`` puts others in place of ours.

    A runtime that is ``serving`` others counts for them, and answers only when the record of what it did is kept.

    Raises:
        SandboxUnavailable: the configured isolation cannot be had; nothing was started.
        ConfigError: a package that code may import is not installed.
        StoreUnavailable: what must be kept cannot be.
    """
    # Looking at every definition costs something: a gateway that stays does it, a single run does not.
    notices = Notices(time.time)
    callers = Callers(emit, ask, notices if serving else ignore)
    async with (
        open_servers(config, tools, callers) as upstreams,
        open_library(config, upstreams, callers) as library,
        open_durable(config) as durable,
        sandboxes(config) as (pool, kept),
    ):
        rooms = _rooms(config, frozenset(by_server(tools)), upstreams, library, durable, pool, kept, serving=serving)
        notices.open(rooms.recorder.noticed)
        try:
            async with rooms.instances.seen() if serving else nullcontext():
                yield replace(rooms, callers=callers)
        finally:
            await rooms.recorder.accounts.settled()


def _rooms(
    config: Config, trusted: frozenset[str], upstreams: Upstreams, library: Library, durable: Durable, pool: Pool, kept: Kept,
    *, serving: bool,
) -> Rooms:  # fmt: skip
    keeping, policy, shields = durable.keeping, Policy.of(config.policy), Shields(config, durable.keeping.sources)
    discovery = Discovery(upstreams, library)
    session = AnswerSession(keeping, library.find, lambda call: call.tenant)
    desk = Desk(
        store=durable.store, journal=durable.journal, approvals=durable.approvals, redactors=durable.redactors, policy=policy,
        sessions=keeping.sessions, ended=partial(_end, kept, shields),
    )  # fmt: skip
    accounts = Accounts(durable.spent, lambda: library.catalog, SURFACE_TOKENS)
    searches = Searches(audit=durable.audit, accounts=accounts, redactors=durable.redactors, clock=time.time)
    sizes = {"warm": config.sandbox.warm, "concurrency": config.sandbox.concurrency}
    servers = (*(upstream.name for upstream in upstreams), RESERVED)
    metrics = Metrics(pool.states, sizes, servers) if serving and config.records.metrics else NoMetrics()
    durable.decided.listeners.append(lambda approval: metrics.approved(approval.standing))
    broker = Broker(
        upstreams=upstreams, library=library, session=session,
        discovery=AnswerDiscovery(discovery, session.skills_of, searches.by_code),
        policy=policy, quota=Quota(config.quota, time.monotonic), journal=durable.journal, checker=Checker(),
        cache=Cache(tell=lambda hit: metrics.cached(hit=hit)), trusted=trusted, note=desk.note, masks=shields.masks,
        flows=shields.flows, known=known_tools(config, upstreams, library),
    )  # fmt: skip
    site = site_of(config.sandbox.venv, config.sandbox.packages, config.state_dir)
    return Rooms(
        config=config, pool=pool, kept=kept, keeping=keeping, upstreams=upstreams, library=library, discovery=discovery,
        broker=broker, desk=desk, checks=Checks(library, upstreams, keeping.workspaces, site, config.guard),
        spent=durable.spent, shields=shields, searches=searches, instances=Instances(durable.store),
        present=Presenter(config=config.shaping, place=partial(_place, keeping, shields), masks=config.mask.mode != "off"),
        recorder=Recorder(
            audit=durable.audit, note=desk.note, accounts=accounts, outcomes=durable.outcomes,
            metrics=metrics, anomalies=Anomalies(), traces=open_traces() if config.records.traces else NoTraces(), wait=serving,
        ),
        differences=Differences(upstreams=upstreams, library=library, decide=broker.decide),
    )  # fmt: skip


async def _end(kept: Kept, shields: Shields, space: str) -> None:
    """A session was ended, maybe by another process: what is kept of it here goes."""
    await kept.drop(space)
    shields.forget(space)


async def _place(keeping: Keeping, shields: Shields, run: Run, session: str) -> Save:
    """Where a run leaves what is too much to go back: the files of its session, or of one named after it."""
    execution = run.execution
    files = keeping.files(await keeping.sessions.open(session, execution.tenant, execution.caller))
    await shields.inherit(run, session)
    return lambda path, content: files.write(path, content).path
