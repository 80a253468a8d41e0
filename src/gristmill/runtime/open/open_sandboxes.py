"""The sandboxes that a configuration asks for. Light: a runtime starts them before it loads anything else of the hall."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from gristmill.config.tree import Config, SandboxConfig
from gristmill.errors import SandboxUnavailable
from gristmill.model import Isolation
from gristmill.runtime.open.state_folders import state_folder
from gristmill.sandbox.base import Pool
from gristmill.sandbox.jail_plan import Plan, plan
from gristmill.sandbox.kernel_probe import Offer, explain, probe
from gristmill.sandbox.managed_packages import site_of
from gristmill.sandbox.pool.jail_pool import LinuxPool, PoolOptions, jail_spec
from gristmill.sandbox.pool.keeper_process import Keeper
from gristmill.sandbox.pool.kept_interpreters import KeepRules, Kept

NOBODY = 65_534

OpenSandboxes = Callable[[Config], AbstractAsyncContextManager[tuple[Pool, Kept]]]


@asynccontextmanager
async def starting(config: Config, keeper: Keeper | None = None) -> AsyncGenerator[OpenSandboxes]:
    """Begin to start the sandboxes of ``config``, whatever else the caller does meanwhile; yields how to open them.

    Their template gets ready in a process of its own: a caller who loads modules on another core loses no time.
    """
    opening = asyncio.create_task(open_pool(config, keeper))
    await asyncio.sleep(0)  # the task goes up to its first wait, and by then the template's process runs
    try:
        yield lambda _: _opened(opening, config.sandbox)
    finally:
        opening.cancel()
        (pool,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(pool, LinuxPool) and not pool.closed:
            await pool.close()  # the caller failed before it came to open them


@asynccontextmanager
async def open_sandboxes(config: Config) -> AsyncGenerator[tuple[Pool, Kept]]:
    """A pool, and the interpreters that sessions keep.

    Raises:
        SandboxUnavailable: the level that is asked for cannot be had here.
    """
    async with starting(config) as begun, begun(config) as opened:
        yield opened


@asynccontextmanager
async def _opened(opening: "asyncio.Task[LinuxPool]", rules: SandboxConfig) -> AsyncGenerator[tuple[Pool, Kept]]:
    pool = await opening
    kept = Kept(pool, keep_rules(rules))
    sweeper = asyncio.create_task(kept.sweep_forever())
    try:
        yield pool, kept
    finally:
        sweeper.cancel()
        await asyncio.gather(sweeper, return_exceptions=True)
        await kept.close()
        await pool.close()


async def open_pool(config: Config, keeper: Keeper | None = None) -> LinuxPool:
    """The pool that ``config`` asks for, at the level it asks for; its first template comes from ``keeper``, if given.

    Raises:
        SandboxUnavailable: that level cannot be had here.
    """
    options = pool_options(config)
    if config.sandbox.isolation == "auto":
        offer = await asyncio.to_thread(probe)
        return await LinuxPool.open(options, choose(offer), keeper)
    try:
        # Launching is the truest probe, and the fastest: why it failed is asked only when it did.
        return await LinuxPool.open(options, config.sandbox.isolation, keeper)
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
