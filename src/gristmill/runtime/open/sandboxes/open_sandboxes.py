"""Opens the sandboxes that a configuration asks for. Light: a runtime starts them before it loads the rest of the hall."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from gristmill.config.tree import Config, SandboxConfig
from gristmill.errors import SandboxUnavailable
from gristmill.model import Isolation
from gristmill.runtime.open.state_folders import NOBODY_ID, make_state_folder
from gristmill.sandbox.base import Pool
from gristmill.sandbox.jail_plan import JailPlan, plan_jail
from gristmill.sandbox.jails.jail_pool import LinuxPool, PoolOptions, make_jail_spec
from gristmill.sandbox.jails.keeper_process import Keeper
from gristmill.sandbox.kernel_probe import KernelOffer, explain_missing_level, probe_kernel
from gristmill.sandbox.managed_packages import find_packages_folder
from gristmill.sandbox.pool.kept_interpreters import KeepRules, KeptInterpreters

OpenSandboxes = Callable[[Config], AbstractAsyncContextManager[tuple[Pool, KeptInterpreters]]]


@asynccontextmanager
async def start_sandboxes(config: Config, keeper: Keeper | None = None) -> AsyncGenerator[OpenSandboxes]:
    """Starts the sandboxes of ``config`` in the background, and yields the function that opens them.

    Their template gets ready in a process of its own: a caller that loads modules on another core loses no time.
    """
    opening = asyncio.create_task(open_pool(config, keeper))
    await asyncio.sleep(0)  # lets the task run to its first wait, when the template's process is started
    try:
        yield lambda _: _use_opened_pool(opening, config.sandbox)
    finally:
        opening.cancel()
        (pool,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(pool, LinuxPool) and not pool.closed:
            await pool.close()  # the caller failed before it opened them


@asynccontextmanager
async def open_sandboxes(config: Config) -> AsyncGenerator[tuple[Pool, KeptInterpreters]]:
    """Opens a pool, and the interpreters that sessions keep.

    Raises:
        SandboxUnavailable: the configured isolation level is not available here.
    """
    async with start_sandboxes(config) as begun, begun(config) as opened:
        yield opened


@asynccontextmanager
async def _use_opened_pool(
    opening: "asyncio.Task[LinuxPool]", rules: SandboxConfig
) -> AsyncGenerator[tuple[Pool, KeptInterpreters]]:
    pool = await opening
    kept = KeptInterpreters(pool, build_keep_rules(rules))
    sweeper = asyncio.create_task(kept.sweep_forever())
    try:
        yield pool, kept
    finally:
        sweeper.cancel()
        await asyncio.gather(sweeper, return_exceptions=True)
        await kept.close()
        await pool.close()


async def open_pool(config: Config, keeper: Keeper | None = None) -> LinuxPool:
    """Opens the pool that ``config`` asks for, at the level it asks for; its first template comes from ``keeper``, if given.

    Raises:
        SandboxUnavailable: that level is not available here.
    """
    options = build_pool_options(config)
    if config.sandbox.isolation == "auto":
        offer = await asyncio.to_thread(probe_kernel)
        return await LinuxPool.open(options, choose_isolation(offer), keeper)
    try:
        # Launching is the most accurate probe, and the fastest; the reasons are examined only if it fails.
        return await LinuxPool.open(options, config.sandbox.isolation, keeper)
    except SandboxUnavailable as error:
        offer = await asyncio.to_thread(probe_kernel)
        if config.sandbox.isolation in offer.levels:
            raise
        raise SandboxUnavailable(f"{explain_missing_level(offer, config.sandbox.isolation)}\n  ({error})") from None


def choose_isolation(offer: KernelOffer) -> Isolation:
    """Returns the best isolation level on offer.

    Raises:
        SandboxUnavailable: there is no level on offer.
    """
    if not offer.levels:
        raise SandboxUnavailable(explain_missing_level(offer, "landlock"))
    return offer.levels[0]


def plan_configured_jail(config: Config) -> JailPlan:
    """Returns the plan of the jail that ``config`` asks for, as data."""
    level = choose_isolation(probe_kernel()) if config.sandbox.isolation == "auto" else config.sandbox.isolation
    return plan_jail(make_jail_spec(build_pool_options(config), level))


def build_pool_options(config: Config) -> PoolOptions:
    """Returns the options of a pool, from the configuration."""
    sandbox = config.sandbox
    state = config.state_dir
    return PoolOptions(
        limits=sandbox.limits.to_limits(),
        warm=sandbox.warm,
        concurrency=sandbox.concurrency,
        preload=(*sandbox.preload, *sandbox.preload_packages),
        site=find_packages_folder(sandbox.venv, sandbox.packages, state),
        workspaces=make_state_folder(state / "workspaces"),
        scratch=make_state_folder(state / "scratch"),
        catalog=make_state_folder(state / "catalog"),
        use_cgroups=sandbox.cgroups != "off",
        require_cgroups=sandbox.cgroups == "require",
        uid=NOBODY_ID,
        gid=NOBODY_ID,
        programs=sandbox.programs,
    )


def build_keep_rules(sandbox: SandboxConfig) -> KeepRules:
    """Returns the rules for how long sessions keep their interpreters, from the configuration."""
    return KeepRules(
        idle_seconds=sandbox.session_idle_seconds, most_interpreters=sandbox.sessions_kept, memory_mb=sandbox.sessions_memory_mb
    )
