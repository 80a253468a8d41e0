"""Config becomes opened rooms: the one composition root."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial

from gristmill.catalog.validate import Checker
from gristmill.config import Config
from gristmill.events import Emit, ignore
from gristmill.guard.policy import Policy
from gristmill.guard.quota import Quota
from gristmill.ledger.anomaly import Anomalies
from gristmill.ledger.metrics import Metrics, NoMetrics
from gristmill.ledger.savings import SURFACE_TOKENS
from gristmill.ledger.trace import NoTraces, open_traces
from gristmill.runtime.account import Accounts
from gristmill.runtime.answer import SERVER as RESERVED
from gristmill.runtime.answer import AnswerDiscovery
from gristmill.runtime.answer_session import AnswerSession
from gristmill.runtime.broker import Broker
from gristmill.runtime.cache import Cache
from gristmill.runtime.callers import Callers
from gristmill.runtime.check import Checks
from gristmill.runtime.desk import Desk
from gristmill.runtime.difference import Differences
from gristmill.runtime.discover import Discovery
from gristmill.runtime.durable import Durable, open_durable
from gristmill.runtime.instances import Instances
from gristmill.runtime.keeping import Keeping
from gristmill.runtime.library import Library
from gristmill.runtime.notices import Notices
from gristmill.runtime.opening import by_server, known_tools, open_discovery, open_library, open_servers
from gristmill.runtime.present import Presenter, Save
from gristmill.runtime.recorder import Recorder
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.run import Run
from gristmill.runtime.sandboxes import OpenSandboxes, open_sandboxes
from gristmill.runtime.searches import Searches
from gristmill.runtime.shields import Shields
from gristmill.sandbox.base import Pool
from gristmill.sandbox.kept import Kept
from gristmill.sandbox.packages import site_of
from gristmill.upstream.base import Ask, Upstreams
from gristmill.upstream.inproc import Function

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
