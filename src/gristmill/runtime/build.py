"""Config becomes opened rooms: the one composition root."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from gristmill.config import Config, SandboxConfig
from gristmill.errors import SandboxUnavailable
from gristmill.events import Emit, ignore
from gristmill.model import Isolation
from gristmill.runtime.broker import call_layers
from gristmill.runtime.callers import Callers
from gristmill.runtime.discover import Discovery
from gristmill.runtime.opening import inner_layers, open_discovery, open_library, open_servers, state_folder
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.kept import KeepRules, Kept
from gristmill.sandbox.packages import site_of
from gristmill.sandbox.plan import Plan, plan
from gristmill.sandbox.pool import LinuxPool, PoolOptions, jail_spec
from gristmill.sandbox.probe import Offer, explain, probe
from gristmill.session.workspace import Workspaces
from gristmill.upstream.base import Ask
from gristmill.upstream.inproc import Function

__all__ = ["open_discovery", "open_pool", "open_rooms"]

NOBODY = 65_534


@asynccontextmanager
async def open_rooms(
    config: Config, tools: Mapping[str, Function], *, emit: Emit = ignore, ask: Ask | None = None
) -> AsyncGenerator[Rooms]:
    """Open every room, and close them in the opposite order.

    Raises:
        SandboxUnavailable: the configured isolation cannot be had; nothing was started.
        ConfigError: a package that code may import is not installed.
    """
    workspaces = Workspaces(root=config.state_dir / "workspaces", uid=NOBODY, gid=NOBODY)
    callers = Callers(emit, ask)
    async with open_servers(config, tools, callers) as upstreams, open_library(config, upstreams, callers) as library:
        discovery = Discovery(upstreams, library)
        pool = await open_pool(config)
        kept = Kept(pool, keep_rules(config.sandbox))
        sweeper = asyncio.create_task(kept.sweep_forever())
        try:
            yield Rooms(
                config=config, pool=pool, kept=kept, workspaces=workspaces, upstreams=upstreams, library=library,
                discovery=discovery, callers=callers,
                layers=call_layers(library, discovery, inner_layers(config, upstreams, library)),
            )  # fmt: skip
        finally:
            sweeper.cancel()
            await asyncio.gather(sweeper, return_exceptions=True)
            await kept.close()
            await pool.close()


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
        workspaces=state_folder(state / "workspaces"),
        scratch=state_folder(state / "scratch"),
        catalog=state_folder(state / "catalog"),
        use_cgroups=sandbox.cgroups != "off",
        require_cgroups=sandbox.cgroups == "require",
        uid=NOBODY,
        gid=NOBODY,
    )


def keep_rules(sandbox: SandboxConfig) -> KeepRules:
    """How long sessions keep their interpreters."""
    return KeepRules(idle_seconds=sandbox.session_idle_seconds, most=sandbox.sessions_kept, memory_mb=sandbox.sessions_memory_mb)
