"""The configured servers while they are open: each has a scope of its own, so it can be added, replaced and removed alone."""

from collections.abc import Callable, Mapping
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.upstream.base import Upstream, Upstreams
from gristmill.upstream.server_origin import hash_origin

AT_ONCE = 8
"""How many servers may start in the background at the same time. A call does not wait for this limit."""

OpenServer = Callable[[str, ServerConfig], Upstream]
"""Builds a server, without connecting to it."""


class ServerChanges(Struct, frozen=True, kw_only=True):
    """The names of the servers that a new configuration adds, removes, and sets up in another way."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.removed or self.changed)


class _Running(Struct, frozen=True):
    """A server that runs, the configuration that it was built from, and the scope that ends it."""

    upstream: Upstream
    config: ServerConfig
    scope: anyio.CancelScope
    origin: str


class ChangingServers(Upstreams):
    """All servers as one ``Handler``; ``change`` makes them those of another configuration."""

    def __init__(self, tasks: TaskGroup, open_server: OpenServer, others: tuple[Upstream, ...] = ()) -> None:
        """Runs the servers in ``tasks``; ``others`` are not configured, and stay whatever changes."""
        super().__init__(others)
        self._tasks, self._open_server = tasks, open_server
        self._at_once = anyio.CapacityLimiter(AT_ONCE)
        self._running: dict[str, _Running] = {}
        self._others = {upstream.name: upstream for upstream in others}
        for upstream in others:
            tasks.start_soon(upstream.run)

    def add(self, upstream: Upstream) -> None:
        """Adds a server that is not configured and needs no task of its own; one of the same name is replaced."""
        self._others[upstream.name] = upstream
        super().add(upstream)

    def find_origin(self, name: str) -> str | None:
        """Returns a digest of what the server of that name starts or reaches; None if it is not configured."""
        running = self._running.get(name)
        return None if running is None else running.origin

    def change(self, servers: Mapping[str, ServerConfig]) -> ServerChanges:
        """Opens, replaces and removes servers so that they are the enabled ones of ``servers``; returns what was different.

        A server with the same configuration keeps its connection. One that goes is closed when its last call has ended.
        """
        enabled = {name: config for name, config in servers.items() if config.enabled}
        before = self._running
        same = {name for name, config in enabled.items() if name in before and before[name].config == config}
        changes = ServerChanges(
            added=tuple(name for name in enabled if name not in before),
            removed=tuple(name for name in before if name not in enabled),
            changed=tuple(name for name in enabled if name in before and name not in same),
        )
        self._running = {name: before[name] if name in same else self._start(name, config) for name, config in enabled.items()}
        configured = {name: running.upstream for name, running in self._running.items()}
        self.replace((configured | self._others).values())
        for name, running in before.items():
            if name not in same:
                self._tasks.start_soon(self._retire, running)
        return changes

    def _start(self, name: str, config: ServerConfig) -> _Running:
        upstream, scope = self._open_server(name, config), anyio.CancelScope()
        running = _Running(upstream, config, scope, hash_origin(config))
        self._tasks.start_soon(partial(_run_in_scope, upstream, scope))
        if config.connect == "background" or not upstream.tools:
            self._tasks.start_soon(self._settle, running)
        return running

    async def _settle(self, running: _Running) -> None:
        async with self._at_once:
            if not running.scope.cancel_called:
                await running.upstream.wait_until_settled()

    async def _retire(self, running: _Running) -> None:
        """Ends a server that is not offered any more, after the calls under way, but no later than these may take."""
        with anyio.move_on_after(running.config.call_seconds):
            await self.wait_until_idle(running.upstream)
        running.scope.cancel()


async def _run_in_scope(upstream: Upstream, scope: anyio.CancelScope) -> None:
    with scope:
        await upstream.run()
