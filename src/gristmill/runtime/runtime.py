"""The facade: open a runtime, execute code in it, close it."""

import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gristmill.config import Config, load_config
from gristmill.errors import ConfigError
from gristmill.events import Emit, ignore
from gristmill.model import Execution, Isolation, Json, Limits, Outcome
from gristmill.runtime.build import open_rooms
from gristmill.runtime.execute import execute
from gristmill.runtime.rooms import Rooms
from gristmill.upstream.inproc import Function


class Session:
    """A name whose interpreter and files live on between executions."""

    def __init__(self, runtime: "Runtime", name: str) -> None:
        self._runtime = runtime
        self.name = name

    async def execute(self, code: str, **options: Any) -> Outcome:
        """As ``Runtime.execute``, in this session."""
        return await self._runtime.execute(code, session=self.name, **options)

    async def fork(self, name: str | None = None) -> "Session":
        """Branch the live interpreter; both continue independently and share the session's files.

        Raises:
            UnknownSession: there is no live interpreter; run something first.
        """
        branch = name or f"{self.name}-{uuid.uuid4().hex[:8]}"
        await self._runtime.fork_session(self.name, branch)
        return Session(self._runtime, branch)

    async def drop(self) -> None:
        """End the interpreter; the files stay."""
        await self._runtime.drop_session(self.name)


class Runtime:
    """An open gateway. Bound to the event loop it was opened in."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._allowed = rooms.config.sandbox.limits.values()

    @staticmethod
    @asynccontextmanager
    async def open(
        config: Config | str | Path | None = None, *, tools: Mapping[str, Function] | None = None
    ) -> AsyncGenerator["Runtime"]:
        """Open what ``config`` (a value, a file, or ``gristmill.toml`` here) asks for; ``tools`` adds Python functions.

        Raises:
            ConfigError: the configuration cannot be used.
            SandboxUnavailable: the promised isolation cannot be had; nothing was started.
        """
        settings = config if isinstance(config, Config) else load_config(config)
        async with open_rooms(settings, tools or {}) as rooms:
            yield Runtime(rooms)

    @property
    def isolation(self) -> Isolation:
        """The level in force."""
        return self._rooms.pool.isolation

    async def execute(
        self,
        code: str,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        context: Mapping[str, Json] | None = None,
        emit: Emit = ignore,
    ) -> Outcome:
        """Execute ``code``; whatever it does comes back as an outcome.

        ``limits`` may ask for less than the configuration allows, never for more. ``emit`` hears output and calls as they happen.

        Raises:
            SandboxError: the sandbox, not the code, failed.
            ConfigError: an unknown limit.
        """
        execution = Execution(
            id=uuid.uuid4().hex, code=code, session=session, limits=self._limits(limits), context=dict(context or {})
        )
        return await execute(self._rooms, execution, emit)

    def session(self, name: str) -> Session:
        """The session called ``name``; it begins with its first execution."""
        return Session(self, name)

    async def fork_session(self, session: str, branch: str) -> None:
        """Branch the live interpreter of ``session``; both continue independently and share the session's files.

        Raises:
            UnknownSession: ``session`` keeps no live interpreter.
        """
        await self._rooms.kept.fork(session, branch)
        self._rooms.workspaces.share(session, branch)

    async def drop_session(self, session: str) -> None:
        """End the interpreter that ``session`` keeps; its files stay."""
        await self._rooms.kept.drop(session)

    @property
    def sessions_kept(self) -> tuple[str, ...]:
        """The sessions that keep an interpreter now, the one opened first in front."""
        return self._rooms.kept.names

    def _limits(self, asked: Mapping[str, Any] | Limits | None) -> Limits:
        allowed = self._allowed
        if asked is None:
            return allowed
        if not isinstance(asked, Limits):
            try:
                asked = replace(allowed, **asked)
            except TypeError as error:
                known = ", ".join(Limits.__dataclass_fields__)
                raise ConfigError(f"unknown limit: {error}; known are {known}") from None
        names = Limits.__dataclass_fields__
        return replace(allowed, **{name: min(getattr(asked, name), getattr(allowed, name)) for name in names})
