"""The facade: open a runtime, find tools and execute code in it, close it."""

# Annotations stay text, and what a method needs is imported by it: the hall is large, and `open` starts the sandbox before it
# loads the rest, so that both happen at the same time.
from __future__ import annotations

import uuid
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gristmill.catalog.search.search_hits import BUDGET_TOKENS
from gristmill.errors import ConfigError, Error, Refused, UnknownSession
from gristmill.events import Emit, ignore
from gristmill.loading import loading
from gristmill.model import Execution, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from gristmill.catalog.pins.pinned_definitions import Change
    from gristmill.catalog.pins.scan_definitions import Finding
    from gristmill.catalog.search.search_hits import DetailLevel, ServerSummary
    from gristmill.config.tree import Config
    from gristmill.guard.policy.approvals import Approvals
    from gristmill.ledger.audit.audit import Audit
    from gristmill.ledger.metrics import NoMetrics
    from gristmill.ledger.trace import NoTraces
    from gristmill.model import Budget, Isolation, Json, Outcome, Strategy, Tool
    from gristmill.runtime.execution.execute import Approve
    from gristmill.runtime.open.session_stores import Keeping
    from gristmill.runtime.recording.read_stats import Stats
    from gristmill.runtime.rooms import Rooms
    from gristmill.runtime.tools.discovery import Described, Found, Language, ServerRow
    from gristmill.upstream.base import Ask
    from gristmill.upstream.python_functions import Function

__all__ = ["Runtime", "Session"]


class Session:
    """A name whose interpreter and files live on between executions."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self.name = name

    async def execute(self, code: str, **options: Any) -> Outcome:
        """As ``Runtime.execute``, in this session."""
        return await self._runtime.execute(code, session=self.name, **options)

    async def fork(self, name: str | None = None) -> Session:
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
        config: Config | str | Path | None = None,
        *,
        tools: Mapping[str, Function] | None = None,
        emit: Emit = ignore,
        ask: Ask | None = None,
        serving: bool = False,
    ) -> AsyncGenerator[Runtime]:
        """Open what ``config`` (a value, a file, or ``gristmill.toml`` here) asks for; ``tools`` adds Python functions.

        ``emit`` hears of servers and of changed or suspicious tools, and of the calls of every execution. ``ask`` answers when a
        server asks something in the middle of a call; without it servers are told that nobody can be asked. A runtime that is
        ``serving`` others counts metrics, and answers only when the record of what it did is kept.

        Raises:
            ConfigError: the configuration cannot be used.
            SandboxUnavailable: the promised isolation cannot be had; nothing was started.
        """
        from gristmill.sandbox.pool.keeper_process import Keeper

        with Keeper() as keeper:
            with loading():  # all this while the keeper, then the template start beside us
                from gristmill.config.tree import Config, load_config
                from gristmill.runtime.open.open_sandboxes import starting

            settings = config if isinstance(config, Config) else load_config(config)
            async with starting(settings, keeper) as sandboxes:
                with loading():
                    from gristmill.runtime.build import open_rooms

                async with open_rooms(settings, tools or {}, sandboxes, emit=emit, ask=ask, serving=serving) as rooms:
                    yield Runtime(rooms)

    @property
    def config(self) -> Config:
        """What it was opened with."""
        return self._rooms.config

    async def problem(self) -> str | None:
        """Why executions cannot be taken now: no sandbox can be had, or the store does not answer. None when they can."""
        from gristmill.runtime.open.readiness import problem_of

        return await problem_of(self._rooms)

    @property
    def isolation(self) -> Isolation:
        """The level in force."""
        return self._rooms.pool.isolation

    async def execute(
        self,
        code: str | None = None,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        context: Mapping[str, Json] | None = None,
        resume: str | None = None,
        budget: Budget | None = None,
        strategy: Strategy | None = None,
        caller: str = "local",
        tenant: str = "local",
        approve: Approve | None = None,
        emit: Emit = ignore,
        execution_id: str | None = None,
        ask: Ask | None = None,
        promised: bool = False,
    ) -> Outcome:
        """Execute ``code``; whatever it does comes back as an outcome.

        ``limits`` may ask for less than the configuration allows, never for more. ``resume`` takes up an earlier execution:
        calls that succeeded in it are answered from its journal; without ``code`` its own is run again. ``approve`` is shown
        the plan when calls need approval; without it the outcome is ``awaiting_approval`` and carries the plan. ``emit`` hears
        output and calls as they happen. ``ask`` answers the questions of servers about this execution's calls; the runtime must
        have been opened with one, too. The outcome of one that was ``promised`` is kept: see ``take_in`` and ``outcome``.

        Raises:
            SandboxError: the sandbox, not the code, failed.
            ConfigError: an unknown limit, or ``ask`` on a runtime that was opened without.
            NotFound: nothing is kept of the execution to resume.
            StoreUnavailable: what must be kept cannot be.
        """
        from gristmill.runtime.execution.execute import execute

        execution = Execution(
            id=execution_id or uuid.uuid4().hex,
            code=code or "",
            session=session,
            limits=self._limits(limits),
            context=dict(context or {}),
            caller=caller,
            tenant=tenant,
            resume=resume,
            budget=budget,
            strategy=strategy,
            promised=promised,
        )
        with self._rooms.callers.present(execution.id, emit, ask):
            return await execute(self._rooms, execution, emit, approve)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json] | None = None,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        budget: Budget | None = None,
        caller: str = "local",
        tenant: str = "local",
        approve: Approve | None = None,
        emit: Emit = ignore,
        execution_id: str | None = None,
        ask: Ask | None = None,
    ) -> Outcome:
        """Call one tool (``server.tool``) without a sandbox, through the same rules, masks, journal and records as from code.

        Raises:
            ConfigError: an unknown limit, or ``ask`` on a runtime that was opened without.
            StoreUnavailable: what must be kept cannot be.
        """
        from gristmill.runtime.execution.direct_call import OneCall
        from gristmill.runtime.execution.execute import execute

        one = OneCall(tool=tool, arguments=dict(arguments or {}))
        execution = Execution(
            id=execution_id or uuid.uuid4().hex,
            code=one.program,
            session=session,
            limits=self._limits(limits),
            caller=caller,
            tenant=tenant,
            budget=budget,
        )
        with self._rooms.callers.present(execution.id, emit, ask):
            return await execute(self._rooms, execution, emit, approve, one=one)

    @property
    def can_ask(self) -> bool:
        """Whether servers were told that somebody answers questions, so that an execution may bring its own ``ask``."""
        return self._rooms.callers.ask is not None

    async def take_in(self, execution: Execution, check: Callable[[], Awaitable[None]] | None = None) -> None:
        """Put on record that ``execution`` will follow: should the process die, it can be resumed by its id.

        ``check`` raises where it must not be run; of two processes that find nothing against it, one takes it in.

        Raises:
            NotFound: it is to resume something of which nothing is kept.
            Conflict: another process has just taken it in.
            StoreUnavailable: it cannot be kept, so it must not be promised.
        """
        from gristmill.runtime.execution.accepted_executions import promise

        await promise(self._rooms, execution, check)

    async def lives_elsewhere(self, instance: str | None) -> bool:
        """Whether another process that serves from the same store lives, by the id that its promises carry."""
        return await self._rooms.instances.lives_elsewhere(instance)

    async def outcome(self, execution: str, *, caller: str = "local", tenant: str = "local") -> Outcome | None:
        """What came of an execution that was promised to that caller, as long as it is kept."""
        return await self._rooms.recorder.outcomes.find(execution, tenant=tenant, caller=caller)

    @property
    def approvals(self) -> Approvals:
        """The inbox: plans that wait for a person, and what was decided about them."""
        return self._rooms.desk.approvals

    @property
    def audit(self) -> Audit:
        """What happened, in a chain that shows every change."""
        return self._rooms.recorder.audit

    @property
    def traces(self) -> NoTraces:
        """Spans, where they are made."""
        return self._rooms.recorder.traces

    @property
    def metrics(self) -> NoMetrics:
        """What was counted, for Prometheus; nothing unless the runtime is serving."""
        return self._rooms.recorder.metrics

    async def stats(
        self, *, session: str | None = None, tenant: str = "local", since: float = 0.0, execution: str | None = None
    ) -> Stats:
        """What was spent in tokens and what that saved, and what is advised upon it; or the account of one ``execution``.

        Raises:
            NotFound: nothing is kept of the execution.
        """
        from gristmill.runtime.recording.read_stats import read_stats

        await self._rooms.recorder.accounts.settled()
        await self._rooms.desk.store.flush()
        return await read_stats(self._rooms.spent, tenant=tenant, session=session, since=since, execution=execution)

    @property
    def keeping(self) -> Keeping:
        """Sessions, their files and values, and skills."""
        return self._rooms.keeping

    async def search(
        self,
        query: str,
        *,
        detail_level: DetailLevel = "full",
        limit: int = 5,
        server: str | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        session: str | None = None,
        caller: str = "local",
        tenant: str = "local",
    ) -> Found:
        """The best tools for ``query``, from what is known now, as values and as text of at most ``budget_tokens``.

        ``session``, ``caller`` and ``tenant`` say who asks: the skills that they see are found too, and what the session calls
        next rises for similar questions, if that is learned.

        Raises:
            NotFound: no such server; carries near names.
        """
        from gristmill.runtime.calls.learn_from_calls import OUTSIDE

        found = await self._rooms.discovery.search(
            query, detail_level=detail_level, limit=limit, server=server, budget_tokens=budget_tokens,
            skills=await self._skills(session, caller, tenant), who=OUTSIDE if session is None else f"session {session}",
        )  # fmt: skip
        await self._rooms.searches.asked(found, session=session, caller=caller, tenant=tenant)
        return found

    async def _skills(self, session: str | None, caller: str, tenant: str) -> tuple[Tool, ...]:
        """The skills in sight of whoever asks; a session that has not begun or is another caller's has none."""
        from gristmill.runtime.open.session_stores import Scope, skills_in_sight

        keeping = self._rooms.keeping
        mine = await keeping.sessions.list(tenant, caller) if session is not None else ()
        handle = next((each.handle for each in mine if each.name == session), None)
        return await skills_in_sight(keeping, Scope(tenant=tenant, caller=caller, session=handle))

    async def list_servers(self) -> tuple[ServerSummary, ...]:
        """Every server and how many tools it has."""
        return self._rooms.discovery.list_servers()

    async def list_tools(self, server: str) -> tuple[Tool, ...]:
        """The tools of one server.

        Raises:
            NotFound: no such server; carries near names.
        """
        return self._rooms.discovery.list_tools(server)

    async def modules(self) -> dict[str, tuple[str, ...]]:
        """What code can import now: each server's module (``servers.<module>``) and its functions."""
        return self._rooms.discovery.modules()

    async def describe(
        self, keys: str | Sequence[str], *, language: Language = "python", session: str | None = None, caller: str = "local",
        tenant: str = "local",
    ) -> Described:  # fmt: skip
        """The tools of these keys (``server.tool``) in full, as values and as source to read.

        Raises:
            UnknownTool: a key that nobody has; carries near names.
        """
        skills = await self._skills(session, caller, tenant)
        return await self._rooms.discovery.describe(keys, language=language, skills=skills)

    async def servers(self) -> tuple[ServerRow, ...]:
        """How each server is: its state, its tools, its last error, the tokens of its definitions."""
        return await self._rooms.discovery.servers()

    async def definition_tokens(self) -> Mapping[str, int]:
        """What a model would pay to have each tool's definition in context, by its key."""
        return await self._rooms.discovery.definition_tokens()

    async def changes(self) -> tuple[Change, ...]:
        """The tools whose definition is not the one that was accepted, and what differs."""
        return await self._rooms.discovery.changes()

    async def findings(self) -> tuple[Finding, ...]:
        """What is suspicious in the definitions: hidden characters, talk of other servers' tools."""
        return await self._rooms.discovery.findings()

    async def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """Accept the definitions that have changed: all, those of one server, or one tool's; returns the keys.

        Raises:
            NotFound: no such server or tool; carries near names.
        """
        return await self._rooms.discovery.accept(server=server, tool=tool)

    async def settled(self, seconds: float) -> None:
        """Wait, no longer than ``seconds``, for the first listing of servers whose tools are not known yet."""
        await self._rooms.discovery.settled(seconds)

    def session(self, name: str) -> Session:
        """The session called ``name``; it begins with its first execution."""
        return Session(self, name)

    async def fork_session(self, session: str, branch: str, *, tenant: str = "local", caller: str = "local") -> None:
        """Branch the live interpreter of ``session``; both continue independently and share the session's files.

        Raises:
            UnknownSession: ``session`` keeps no live interpreter.
            Refused: it belongs to another caller, or there is a session of the branch's name.
        """
        from gristmill.session.session_register import session_key

        rooms, sessions = self._rooms, self._rooms.keeping.sessions
        space, new = session_key(tenant, session), session_key(tenant, branch)
        if space in rooms.kept.names:
            await sessions.open(session, tenant, caller)
        if any(each.name == branch for each in await sessions.list(tenant)):
            raise Refused(f"session {branch[:80]!r} exists already: choose another name", rule="session.exists")
        await rooms.kept.fork(space, new)
        try:
            await sessions.open(branch, tenant, caller)
            await rooms.shields.branch(space, new)
        except Error:
            await rooms.kept.drop(new)
            raise
        rooms.keeping.workspaces.share(space, new)

    async def delete_session(self, session: str, *, tenant: str = "local", caller: str | None = None) -> None:
        """End a session for good: its interpreter, its files, its values and its skills of level `session`.

        Raises:
            UnknownSession: there is none of that name, or it is not ``caller``'s, where one is named.
        """
        found = [each for each in await self._rooms.keeping.sessions.list(tenant, caller) if each.name == session]
        if not found:
            raise UnknownSession(f"there is no session {session[:80]!r}, or it has expired")
        await self._rooms.forget_session(found[0])

    async def drop_session(self, session: str, *, tenant: str = "local") -> None:
        """End the interpreter that ``session`` keeps; its files stay."""
        from gristmill.session.session_register import session_key

        await self._rooms.kept.drop(session_key(tenant, session))

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
