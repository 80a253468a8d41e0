"""Config becomes opened rooms: the one composition root."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

from gristmill.catalog.validate import Checker
from gristmill.config import Config, SandboxConfig
from gristmill.config_servers import RESERVED_NAMES
from gristmill.errors import ConfigError, SandboxUnavailable
from gristmill.guard.policy import Policy
from gristmill.guard.quota import Quota
from gristmill.ledger.anomaly import Anomalies
from gristmill.ledger.metrics import Metrics, NoMetrics
from gristmill.ledger.savings import SURFACE_TOKENS
from gristmill.model import Isolation
from gristmill.runtime.account import Accounts
from gristmill.runtime.answer import AnswerDiscovery
from gristmill.runtime.answer_session import AnswerSession
from gristmill.runtime.broker import Broker
from gristmill.runtime.cache import Cache
from gristmill.runtime.check import Checks
from gristmill.runtime.desk import Desk
from gristmill.runtime.discover import Discovery
from gristmill.runtime.durable import Durable, open_durable
from gristmill.runtime.keeping import Keeping
from gristmill.runtime.library import Library
from gristmill.runtime.present import Presenter, Save
from gristmill.runtime.recorder import Recorder
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.run import Run
from gristmill.runtime.shields import Shields
from gristmill.sandbox.base import Pool
from gristmill.sandbox.kept import KeepRules, Kept
from gristmill.sandbox.packages import site_of
from gristmill.sandbox.plan import Plan, plan
from gristmill.sandbox.pool import LinuxPool, PoolOptions, jail_spec
from gristmill.sandbox.probe import Offer, explain, probe
from gristmill.upstream.base import Upstreams
from gristmill.upstream.inproc import Function, Inproc

NOBODY = 65_534

OpenSandboxes = Callable[[Config], AbstractAsyncContextManager[tuple[Pool, Kept]]]


@asynccontextmanager
async def open_rooms(
    config: Config, tools: Mapping[str, Function], open_sandboxes: OpenSandboxes | None = None, *, serving: bool = False
) -> AsyncGenerator[Rooms]:
    """Open every room, and close them in the opposite order; ``open_sandboxes`` puts another sandbox in place of ours.

    A runtime that is ``serving`` others counts for them, and answers only when the record of what it did is kept.

    Raises:
        SandboxUnavailable: the configured isolation cannot be had; nothing was started.
        ConfigError: a package that code may import is not installed.
        StoreUnavailable: what must be kept cannot be.
    """
    async with (
        _upstreams(config, tools) as upstreams,
        _library(config, upstreams) as library,
        open_durable(config) as durable,
        (open_sandboxes or _sandboxes)(config) as (pool, kept),
    ):
        rooms = _rooms(config, frozenset(_by_server(tools)), upstreams, library, durable, pool, kept, serving=serving)
        try:
            yield rooms
        finally:
            await rooms.recorder.accounts.settled()


def _rooms(
    config: Config, trusted: frozenset[str], upstreams: Upstreams, library: Library, durable: Durable, pool: Pool, kept: Kept,
    *, serving: bool,
) -> Rooms:  # fmt: skip
    keeping, policy, shields = durable.keeping, Policy.of(config.policy), Shields(config)
    discovery = Discovery(upstreams, library)
    session = AnswerSession(keeping, library.find, lambda call: call.tenant)
    desk = Desk(
        store=durable.store, journal=durable.journal, approvals=durable.approvals, redactors=durable.redactors, policy=policy,
        sessions=keeping.sessions,
    )  # fmt: skip
    broker = Broker(
        upstreams=upstreams, library=library, session=session, discovery=AnswerDiscovery(discovery, session.skills_of),
        policy=policy, quota=Quota(config.quota, time.monotonic), journal=durable.journal, cache=Cache(), checker=Checker(),
        trusted=trusted, masks=shields.masks, flows=shields.flows,
    )  # fmt: skip
    site = site_of(config.sandbox.venv, config.sandbox.packages, config.state_dir)
    return Rooms(
        config=config, pool=pool, kept=kept, keeping=keeping, upstreams=upstreams, library=library, discovery=discovery,
        broker=broker, desk=desk, checks=Checks(library, upstreams, keeping.workspaces, site, config.guard),
        spent=durable.spent,
        present=Presenter(config=config.shaping, place=partial(_place, keeping), masks=config.mask.mode != "off"),
        recorder=Recorder(
            audit=durable.audit, note=desk.note, accounts=Accounts(durable.spent, lambda: library.catalog, SURFACE_TOKENS),
            metrics=Metrics(pool.states) if serving and config.records.metrics else NoMetrics(), anomalies=Anomalies(),
            wait=serving,
        ),
    )  # fmt: skip


async def _place(keeping: Keeping, run: Run, session: str) -> Save:
    """Where a run leaves what is too much to go back: the files of its session, or of one named after it."""
    execution = run.execution
    files = keeping.files(await keeping.sessions.open(session, execution.tenant, execution.caller))
    return lambda path, content: files.write(path, content).path


@asynccontextmanager
async def _sandboxes(config: Config) -> AsyncGenerator[tuple[Pool, Kept]]:
    pool = await open_pool(config)
    kept = Kept(pool, keep_rules(config.sandbox))
    sweeper = asyncio.create_task(kept.sweep_forever())
    try:
        yield pool, kept
    finally:
        sweeper.cancel()
        await asyncio.gather(sweeper, return_exceptions=True)
        await kept.close()
        await pool.close()


@asynccontextmanager
async def open_discovery(config: Config) -> AsyncGenerator[Discovery]:
    """Only what is needed to find tools: no sandbox is opened."""
    async with _upstreams(config, {}) as upstreams, _library(config, upstreams) as library:
        yield Discovery(upstreams, library)


@asynccontextmanager
async def _library(config: Config, upstreams: Upstreams) -> AsyncGenerator[Library]:
    library = Library(upstreams, _folder(config.state_dir / "catalog"))
    try:
        yield library
    finally:
        await library.close()


@asynccontextmanager
async def _upstreams(config: Config, tools: Mapping[str, Function]) -> AsyncGenerator[Upstreams]:
    """The configured servers, and the Python functions that the embedding application brought."""
    ours = tuple(Inproc(server, named, cheap=True) for server, named in _by_server(tools).items())
    if not config.servers:
        yield Upstreams(ours)
        return
    # The MCP SDK takes half a second to import: a runtime without servers starts without it.
    from gristmill.upstream.build import World, open_upstreams

    world = World(environ=dict(os.environ), cache=_folder(config.state_dir / "upstreams"))
    async with open_upstreams(config.servers, world, others=ours) as upstreams:
        yield upstreams


def _by_server(tools: Mapping[str, Function]) -> dict[str, dict[str, Function]]:
    found: dict[str, dict[str, Function]] = {}
    for key, function in tools.items():
        server, _, name = key.partition(".")
        if not server or not name:
            raise ConfigError(f"a tool is named server.tool, not {key!r}")
        if server in RESERVED_NAMES:
            raise ConfigError(f"{key!r}: the name {server!r} is taken by Gristmill itself; choose another")
        found.setdefault(server, {})[name] = function
    return found


async def open_pool(config: Config) -> LinuxPool:
    """The pool that ``config`` asks for, at the level it asks for.

    Raises:
        SandboxUnavailable: that level cannot be had here.
    """
    options = pool_options(config)
    if config.sandbox.isolation == "auto":
        offer = await asyncio.to_thread(probe)
        return await LinuxPool.open(options, choose(offer))
    try:
        # Launching is the truest probe, and the fastest: why it failed is asked only when it did.
        return await LinuxPool.open(options, config.sandbox.isolation)
    except SandboxUnavailable as error:
        offer = await asyncio.to_thread(probe)
        if config.sandbox.isolation in offer.levels:
            raise
        raise SandboxUnavailable(f"{explain(offer, config.sandbox.isolation)}\n  ({error})") from None


def choose(offer: Offer) -> Isolation:
    """The best level on offer.

    Raises:
        SandboxUnavailable: there is none.
    """
    if not offer.levels:
        raise SandboxUnavailable(explain(offer, "landlock"))
    return offer.levels[0]


def planned(config: Config) -> Plan:
    """The jail that ``config`` asks for, as data."""
    level = choose(probe()) if config.sandbox.isolation == "auto" else config.sandbox.isolation
    return plan(jail_spec(pool_options(config), level))


def pool_options(config: Config) -> PoolOptions:
    """The part of the configuration that makes a pool."""
    sandbox = config.sandbox
    state = config.state_dir
    return PoolOptions(
        limits=sandbox.limits.values(),
        warm=sandbox.warm,
        concurrency=sandbox.concurrency,
        preload=(*sandbox.preload, *sandbox.preload_packages),
        site=site_of(sandbox.venv, sandbox.packages, state),
        workspaces=_folder(state / "workspaces"),
        scratch=_folder(state / "scratch"),
        catalog=_folder(state / "catalog"),
        use_cgroups=sandbox.cgroups != "off",
        require_cgroups=sandbox.cgroups == "require",
        uid=NOBODY,
        gid=NOBODY,
    )


def keep_rules(sandbox: SandboxConfig) -> KeepRules:
    """How long sessions keep their interpreters."""
    return KeepRules(idle_seconds=sandbox.session_idle_seconds, most=sandbox.sessions_kept, memory_mb=sandbox.sessions_memory_mb)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        path.chmod(0o711)  # code runs as another user then: it may pass through, not look around
    return path
