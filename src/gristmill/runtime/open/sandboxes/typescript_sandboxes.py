"""Opens the sandboxes for TypeScript when the first program in that language arrives: most gateways never need them."""

import asyncio
import importlib.util

from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.tree import Config
from gristmill.errors import SandboxUnavailable
from gristmill.model import Isolation
from gristmill.runtime.open.sandboxes.open_sandboxes import build_keep_rules, build_pool_options
from gristmill.sandbox.base import Pool
from gristmill.sandbox.guest_programs import INSTALL_COMMAND, find_typescript_guest
from gristmill.sandbox.jails.jail_pool import LinuxPool
from gristmill.sandbox.pool.kept_interpreters import KeptInterpreters

NEEDED_MODULES = ("deno", "tree_sitter", "tree_sitter_typescript")


class LanguageSandboxes(Struct, frozen=True):
    """The sandboxes of one language: fresh ones, and those that sessions keep."""

    pool: Pool
    interpreters: KeptInterpreters


class TypeScriptSandboxes:
    """The sandboxes for TypeScript, opened at first use at the same isolation level as those for Python."""

    def __init__(self, config: Config, level: Isolation) -> None:
        self._config = config
        self._level: Isolation = level
        self._opened: LanguageSandboxes | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()  # the first programs wait for one pool

    @property
    def installed(self) -> bool:
        """Whether what TypeScript needs is installed."""
        return all(importlib.util.find_spec(name) is not None for name in NEEDED_MODULES)

    @property
    def names(self) -> tuple[str, ...]:
        """The sessions that keep an interpreter for TypeScript."""
        return self._opened.interpreters.names if self._opened is not None else ()

    async def open(self) -> LanguageSandboxes:
        """Returns the sandboxes, and starts them if need be.

        Raises:
            SandboxUnavailable: what TypeScript needs is not installed, or its sandbox cannot be started here.
        """
        if self._opened is not None:
            return self._opened
        if not self.installed:
            raise SandboxUnavailable(f"programs in TypeScript need more packages: {INSTALL_COMMAND}")
        async with self._lock:
            if self._opened is None:
                options, rules = build_pool_options(self._config), self._config.sandbox.typescript
                program = find_typescript_guest(options.limits, jit=rules.jit)
                own = replace(options, warm=rules.warm, preload=(), site=None, programs=(), program=program)
                pool = await LinuxPool.open(own, self._level)
                kept = KeptInterpreters(pool, build_keep_rules(self._config.sandbox))
                self._sweeper = asyncio.create_task(kept.sweep_forever())
                self._opened = LanguageSandboxes(pool, kept)
        return self._opened

    async def drop(self, session: str) -> None:
        """Ends the interpreter that a session keeps."""
        if self._opened is not None:
            await self._opened.interpreters.drop(session)

    async def close(self) -> None:
        """Ends all sandboxes."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        if self._opened is not None:
            await self._opened.interpreters.close()
            await self._opened.pool.close()
