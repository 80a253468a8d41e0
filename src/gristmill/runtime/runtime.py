"""The facade: opens a runtime, finds tools, executes code, and closes the runtime."""

# Annotations stay text, and four methods import what they need: the configuration and most of the hall are imported while the
# processes of the sandbox start, so that both happen at the same time.
from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gristmill.catalog.search.search_hits import BUDGET_TOKENS
from gristmill.errors import ConfigError, Error, Refused, UnknownSession
from gristmill.events import ConfigChanged, Emit, ignore_event
from gristmill.model import LOCAL, Execution, Limits
from gristmill.runtime.calls.learn_from_calls import OUTSIDE
from gristmill.runtime.choose_identity import choose_identity
from gristmill.runtime.execution.direct_call import DirectCall
from gristmill.runtime.execution.given_options import check_limits, check_options, choose_budget, choose_language, choose_title
from gristmill.runtime.execution.given_values import check_given_values
from gristmill.runtime.open.readiness import ReadinessProbe, ReadinessProblem
from gristmill.runtime.open.state_folders import check_state_folder
from gristmill.sandbox.jails.keeper_process import Keeper
from gristmill.session.session_register import read_generation
from gristmill.session.skills.skill import SkillScope

if TYPE_CHECKING:
    from gristmill.catalog.pins.pinned_definitions import DefinitionChange
    from gristmill.catalog.pins.scan_definitions import DefinitionFinding
    from gristmill.catalog.search.search_hits import DetailLevel, ServerSummary
    from gristmill.config.tree import Config
    from gristmill.guard.policy.approvals import Approval, Approvals
    from gristmill.ledger.audit.audit import Audit
    from gristmill.ledger.metrics import NoMetrics
    from gristmill.ledger.trace import NoTraces
    from gristmill.model import Budget, Identity, Isolation, Json, Language, Outcome, Strategy, Tool
    from gristmill.runtime.calls.review_calls import Reviewer
    from gristmill.runtime.execution.accepted_executions import Check
    from gristmill.runtime.execution.answer.content_masks import ContentMasks
    from gristmill.runtime.execution.execute import Approve
    from gristmill.runtime.execution.plan_details import PlanDetails
    from gristmill.runtime.execution.revert_writes import Revert
    from gristmill.runtime.open.session_stores import SessionStores
    from gristmill.runtime.recording.read_stats import Stats
    from gristmill.runtime.recording.token_accounts import CountListener
    from gristmill.runtime.rooms import Rooms
    from gristmill.runtime.tools.choose_mode import ChosenMode
    from gristmill.runtime.tools.discovery import DescribedTools, SearchAnswer, ServerRow
    from gristmill.store.base import Store
    from gristmill.upstream.base import Ask
    from gristmill.upstream.described_functions import DescribedFunction
    from gristmill.upstream.python_functions import Function

__all__ = ["Runtime", "Session"]


MODE_SECONDS = 30 * 86_400.0
"""How far back the token accounts are read to choose a mode."""
FIRST_LISTING_SECONDS = 20.0
"""How long the first search waits for servers whose tools were never listed before."""


class Session:
    """A named session, whose interpreter and files live on between executions."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self.name = name

    async def execute(self, code: str, **options: Any) -> Outcome:
        """Executes code in this session; see ``Runtime.execute``."""
        return await self._runtime.execute(code, session=self.name, **options)

    async def fork(self, name: str | None = None) -> Session:
        """Branches the live interpreter; both continue independently and share the session's files.

        Raises:
            UnknownSession: there is no live interpreter; run some code first.
        """
        branch = name or f"{self.name}-{uuid.uuid4().hex[:16]}"
        await self._runtime.fork_session(self.name, branch)
        return Session(self._runtime, branch)

    async def drop(self) -> None:
        """Ends the interpreter; the files stay."""
        await self._runtime.drop_session(self.name)


class Runtime:
    """An open gateway, bound to the event loop it was opened in."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._config = rooms.config
        self.config_listeners: list[Callable[[ConfigChanged], None]] = []
        """Functions that are told when another configuration was taken into use."""
        self.config_checks: list[Callable[[Config], object]] = []
        """Functions of layers above that raise a ``ConfigError`` for a configuration that they cannot use."""
        self._allowed_limits = rooms.config.sandbox.limits.to_limits()
        self._readiness = ReadinessProbe(rooms.pool, rooms.serving_processes, rooms.config.state_dir)
        self.loop = asyncio.get_running_loop()
        """The event loop to which the runtime is bound."""

    @staticmethod
    @asynccontextmanager
    async def open(
        config: Config | str | Path | None = None,
        *,
        tools: Mapping[str, Function] | None = None,
        emit: Emit = ignore_event,
        ask: Ask | None = None,
        serving: bool = False,
        review: Reviewer | None = None,
    ) -> AsyncGenerator[Runtime]:
        """Opens a runtime by ``config`` (a value, a file, or ``gristmill.toml`` here); ``tools`` adds Python functions.

        ``emit`` receives events about servers, about changed or suspicious tools, and about the calls of every execution. ``ask``
        answers when a server asks a question during a call; without it servers are told that nothing can be asked. A runtime that
        is ``serving`` others counts metrics, and answers only when the record of what it did is stored. ``review`` may approve
        calls that `policy.review` names: it gets a call and its tool, and returns why it approves, or None if a person decides.

        Raises:
            ConfigError: the configuration cannot be used, or the state folder cannot be written.
            SandboxUnavailable: the configured isolation is not available; nothing was started.
        """
        with Keeper() as keeper:
            # Imported while the keeper's interpreter starts.
            from gristmill.config.tree import Config, load_config
            from gristmill.runtime.open.sandboxes.open_sandboxes import start_sandboxes

            settings = config if isinstance(config, Config) else load_config(config)
            check_state_folder(settings.state_dir)
            async with start_sandboxes(settings, keeper) as sandboxes:
                from gristmill.runtime.build import open_rooms  # while the template process starts

                async with open_rooms(
                    settings, tools or {}, sandboxes, emit=emit, ask=ask, serving=serving, review=review
                ) as rooms:
                    yield Runtime(rooms)

    @property
    def config(self) -> Config:
        """Returns the configuration in use: the one that the runtime was opened with, and the parts that were changed since."""
        return self._config

    async def change_config(self, config: Config) -> ConfigChanged:
        """Takes the servers, the policy and the rollout of ``config`` into use; what runs sees them from its next call on.

        Returns what was different, and which other sections wait for a restart. If it raises, nothing has changed.

        Raises:
            ConfigError: the policy or the rollout cannot be used, or the runtime has no servers and is not ``serving``.
        """
        for check in self.config_checks:
            check(config)
        self._config, change = await self._rooms.change_config(self._config, config)
        for listener in self.config_listeners:
            listener(change)
        return change

    async def readiness_problem(self) -> str | None:
        """Returns why executions cannot run now; None when they can."""
        problem = await self.find_readiness_problem()
        return None if problem is None else problem.message

    async def find_readiness_problem(self) -> ReadinessProblem | None:
        """Returns which part executions lack (a sandbox, the store, room on the disk, descriptors); None when they can run."""
        return await self._readiness.find_problem()

    @property
    def isolation(self) -> Isolation:
        """Returns the isolation level in force."""
        return self._rooms.pool.isolation

    async def execute(
        self,
        code: str | None = None,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        context: Mapping[str, Json] | None = None,
        resume: str | None = None,
        budget: Budget | int | None = None,
        strategy: Strategy | None = None,
        identity: Identity | None = None,
        caller: str | None = None,
        tenant: str | None = None,
        approve: Approve | None = None,
        emit: Emit = ignore_event,
        execution_id: str | None = None,
        ask: Ask | None = None,
        promised: bool = False,
        conversation: str | None = None,
        language: Language | None = None,
        parent: str | None = None,
        arm: str | None = None,
        title: str | None = None,
    ) -> Outcome:
        """Executes ``code`` and returns an outcome, whether the code succeeds or fails.

        ``limits`` may ask for less than the configuration allows, never for more. ``budget`` says how many tokens go back; a
        plain number limits the result. Options are checked before anything runs. ``resume`` continues an earlier execution:
        calls that succeeded in it are answered from its journal; without ``code`` its own code is run again. ``approve`` is
        shown the plan when calls need approval; without it the outcome is ``awaiting_approval`` and carries the plan. ``emit``
        receives output and calls as they happen. ``ask`` answers the questions of servers about this execution's calls; the
        runtime must have been opened with one, too. The outcome of a ``promised`` execution is stored: see ``accept_execution``
        and ``outcome``. ``conversation`` names the loop of a model that the token accounts add up; without it a session is one.
        ``language`` is recognised from the code if it is not given. In the audit the execution stands under ``parent``, an
        execution of the same tenant whose program asked for this one. ``arm`` is the arm of a rollout that the caller has. Lists
        show the ``title``, of which the first 200 characters are kept.

        Raises:
            SandboxError: the sandbox, not the code, failed.
            ConfigError: a limit or another option cannot be used, or ``ask`` was given to a runtime that was opened without one.
            LimitExceeded: ``context`` is nested too deep, or holds too many values or too large an integer.
            NotFound: no record of the execution to resume is kept.
            Conflict: an early version recorded the execution to resume without its context, and no ``code`` was given.
            StoreUnavailable: the store cannot be written.
        """
        check_given_values("context", context)
        check_options(
            code=code,
            session=session,
            resume=resume,
            strategy=strategy,
            execution_id=execution_id,
            conversation=conversation,
            title=title,
        )
        who = choose_identity(identity, caller=caller, tenant=tenant)
        execution = Execution(
            id=execution_id or uuid.uuid4().hex,
            code=code or "",
            session=session,
            limits=self._cap_limits(limits),
            context=dict(context or {}),
            identity=who,
            resume=resume and await self.find_execution_id(resume, identity=who),
            budget=choose_budget(budget),
            strategy=strategy,
            promised=promised,
            conversation=conversation,
            language=choose_language(language),
            parent=parent,
            arm=arm,
            title=choose_title(title),
        )
        with self._rooms.callers.attach_caller(execution.id, emit, ask):
            return await self._execute(execution, emit, approve)

    async def prepare_revert(self, execution: str, *, identity: Identity | None = None) -> Revert:
        """Returns how what ``execution`` wrote is undone: by an execution of its own, which resumes the ``id`` with the ``code``.

        Raises:
            NotFound: no record of it is kept.
            Conflict: nothing that it wrote can be undone.
        """
        from gristmill.runtime.execution.revert_writes import prepare_revert  # loaded by `open` already

        who = choose_identity(identity)
        found = await self.find_execution_id(execution, identity=who)
        return await prepare_revert(self._rooms.intake, found, identity=who)

    async def revert(self, execution: str, *, identity: Identity | None = None, **options: Any) -> Outcome:
        """Undoes what ``execution`` wrote, as `policy.revert` says; each call needs approval. Options are those of ``execute``.

        In the audit it stands under ``execution``. Writes that were undone before are not undone again.

        Raises:
            NotFound: no record of it is kept.
            Conflict: nothing that it wrote can be undone.
        """
        found = await self.prepare_revert(execution, identity=identity)
        options = {"title": f"undo of {found.execution}", **options}
        return await self.execute(found.code, resume=found.id, parent=found.execution, identity=identity, **options)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json] | None = None,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        budget: Budget | int | None = None,
        identity: Identity | None = None,
        caller: str | None = None,
        tenant: str | None = None,
        approve: Approve | None = None,
        emit: Emit = ignore_event,
        execution_id: str | None = None,
        ask: Ask | None = None,
        conversation: str | None = None,
        arm: str | None = None,
    ) -> Outcome:
        """Calls one tool (``server.tool``) without a sandbox, through the same rules, masks, journal and records as from code.

        Raises:
            ConfigError: a limit or another option cannot be used, or ``ask`` was given to a runtime that was opened without one.
            LimitExceeded: ``arguments`` are nested too deep, or hold too many values or too large an integer.
            StoreUnavailable: the store cannot be written.
        """
        check_given_values("arguments", arguments)
        check_options(tool=tool, session=session, execution_id=execution_id, conversation=conversation)
        direct = DirectCall(tool=tool, arguments=dict(arguments or {}))
        execution = Execution(
            id=execution_id or uuid.uuid4().hex,
            code=direct.program,
            session=session,
            limits=self._cap_limits(limits),
            identity=choose_identity(identity, caller=caller, tenant=tenant),
            budget=choose_budget(budget),
            conversation=conversation,
            arm=arm,
        )
        with self._rooms.callers.attach_caller(execution.id, emit, ask):
            return await self._execute(execution, emit, approve, direct)

    async def _execute(
        self, execution: Execution, emit: Emit, approve: Approve | None, direct: DirectCall | None = None
    ) -> Outcome:
        from gristmill.runtime.execution.execute import execute  # loaded by `open` already

        return await execute(self._rooms, execution, emit, approve, direct=direct)

    @property
    def can_ask(self) -> bool:
        """Returns whether servers were told that questions are answered, so that an execution may bring its own ``ask``."""
        return self._rooms.callers.ask is not None

    async def accept_execution(
        self, execution: Execution, check: Check | None = None, details: Mapping[str, Json] | None = None
    ) -> None:
        """Records that ``execution`` will follow, with ``details``: if the process dies, it can be resumed by its id.

        ``check`` raises where it must not be run; if two processes pass the check at the same time, one of them accepts it.

        Raises:
            LimitExceeded: its context is nested too deep, or holds too many values or too large an integer.
            NotFound: it resumes an execution of which no record is kept.
            Conflict: another process has just accepted it.
            StoreUnavailable: the record cannot be stored, so the execution must not be promised.
        """
        from gristmill.runtime.execution.accepted_executions import accept_execution  # loaded by `open` already

        check_given_values("context", execution.context)
        await accept_execution(self._rooms, execution, check, details)

    async def store_outcome(self, outcome: Outcome, *, identity: Identity, promised: bool = True) -> None:
        """Stores the outcome of an execution that ended with ``OutcomeNotStored``, and waits for its records.

        Raises:
            StoreUnavailable: the store still cannot be written.
        """
        execution = Execution(id=outcome.id, code="", identity=identity, promised=promised)
        await self._rooms.recorder.store_outcome(outcome, execution)

    async def lives_elsewhere(self, instance: str | None) -> bool:
        """Returns whether another process that serves from the same store is alive, by the id that its promises carry."""
        return await self._rooms.serving_processes.lives_elsewhere(instance)

    @property
    def process_id(self) -> str:
        """Returns the id of this process among those that serve from the same store."""
        return self._rooms.serving_processes.id

    async def has_ended(self, instance: str | None) -> bool:
        """Returns whether a process that served from the same store is known to have ended; of None nothing is known."""
        processes = self._rooms.serving_processes
        return instance not in (None, processes.id) and not await processes.lives_elsewhere(instance)

    async def outcome(
        self, execution: str, *, identity: Identity | None = None, caller: str | None = None, tenant: str | None = None
    ) -> Outcome | None:
        """Returns the outcome of an execution that was promised to that caller, as long as it is kept."""
        owner = choose_identity(identity, caller=caller, tenant=tenant)
        found = await self._rooms.recorder.outcomes.find(execution, identity=owner)
        return None if found is None else await self.fill_tokens_saved(found, tenant=owner.tenant)

    async def fill_tokens_saved(self, outcome: Outcome, *, tenant: str = LOCAL) -> Outcome:
        """Returns ``outcome`` with its ``tokens_saved``, if that was counted after it had gone back; waits for nothing."""
        if outcome.tokens_saved is not None:
            return outcome
        await self._rooms.intake.store.flush()
        return dataclasses.replace(outcome, tokens_saved=await self._rooms.spent.read_saved(outcome.id, tenant=tenant))

    @property
    def approvals(self) -> Approvals:
        """Returns the inbox: plans that wait for a person, and the decisions about them."""
        return self._rooms.intake.approvals

    async def load_plan_details(self, approval: Approval, *, reveal: bool = False) -> PlanDetails:
        """Returns what an approver should know of a plan besides its calls; ``reveal`` for one who may see real values."""
        from gristmill.runtime.execution.plan_details import load_plan_details  # loaded by `open` already

        return await load_plan_details(self._rooms, approval, reveal=reveal)

    def serve_pages_at(self, url: str) -> None:
        """Sets where people find the pages, unless the configuration says it: plans name the address."""
        address = self._rooms.intake.address
        address.url = address.url or url

    async def find_execution_id(self, beginning: str, *, identity: Identity | None = None, whole_tenant: bool = False) -> str:
        """Returns the id of the execution of ``identity``, or of its whole tenant, that alone begins so.

        A text that is a whole id, or that fits no execution, is returned as it is.

        Raises:
            NotFound: more than one begins so.
        """
        return await self._rooms.recorder.audit.find_execution_id(
            beginning, owner=choose_identity(identity), whole_tenant=whole_tenant
        )

    @property
    def audit(self) -> Audit:
        """Returns the audit: records of what happened, in a chain that shows every change."""
        return self._rooms.recorder.audit

    @property
    def store(self) -> Store:
        """Returns the database of this runtime, for layers above it that keep something of their own there."""
        return self._rooms.intake.store

    @property
    def traces(self) -> NoTraces:
        """Returns the maker of OpenTelemetry spans; it makes none where tracing is off."""
        return self._rooms.recorder.traces

    @property
    def metrics(self) -> NoMetrics:
        """Returns the metrics for Prometheus; nothing is counted unless the runtime is serving."""
        return self._rooms.recorder.metrics

    def listen_to_token_counts(self, listener: CountListener) -> None:
        """Has ``listener`` told of every execution whose tokens were counted; it may be called from a thread."""
        self._rooms.recorder.accounts.listeners.append(listener)

    async def stats(
        self, *, session: str | None = None, tenant: str = LOCAL, since: float = 0.0, execution: str | None = None,
        conversation: str | None = None,
    ) -> Stats:  # fmt: skip
        """Returns what was spent in tokens, what that saved, and advice based on it: of a tenant, or of one ``session``,
        ``conversation`` or ``execution`` of it.

        Raises:
            NotFound: no record of the execution is kept.
        """
        await self._rooms.recorder.accounts.wait_until_counted()
        await self._rooms.intake.store.flush()
        from gristmill.runtime.recording.read_stats import read_stats  # loaded by `open` already

        return await read_stats(
            self._rooms.spent, tenant=tenant, session=session, since=since, execution=execution, conversation=conversation,
            price=self.config.records.token_price,
        )  # fmt: skip

    @property
    def session_stores(self) -> SessionStores:
        """Returns the stores of sessions: their files and values, and skills."""
        return self._rooms.session_stores

    @property
    def content_masks(self) -> ContentMasks:
        """Returns what masks files and skills that leave their sessions towards a model or a person."""
        return self._rooms.content_masks

    async def search(
        self,
        query: str,
        *,
        detail_level: DetailLevel | None = None,
        limit: int = 5,
        server: str | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        session: str | None = None,
        identity: Identity | None = None,
        caller: str | None = None,
        tenant: str | None = None,
        conversation: str | None = None,
        for_person: bool = False,
        shown: Collection[str] = (),
    ) -> SearchAnswer:
        """Returns the best tools for ``query``, as values and as text of at most ``budget_tokens``.

        Right after opening it waits for the first listing of servers whose tools are not known yet, but not for long.
        Without a ``detail_level`` the text has the first tools in full and the others as signatures; tools whose keys are in
        ``shown`` are only named.

        ``session`` and ``identity`` (or ``caller`` and ``tenant``) say who asks: the skills that they can see are found
        too, and tools that the session calls next rank higher for similar questions, if the configuration allows learning.
        What is searched ``for_person`` and not for a model is no part of the token accounts.

        Raises:
            NotFound: there is no such server; the error carries near names.
        """
        who = choose_identity(identity, caller=caller, tenant=tenant)
        await self.settled(FIRST_LISTING_SECONDS)
        found = await self._rooms.discovery.search(
            query, detail_level=detail_level, limit=limit, server=server, budget_tokens=budget_tokens,
            skills=await self._find_skills(session, who), who=OUTSIDE if session is None else f"session {session}",
            shown=shown,
        )  # fmt: skip
        await self._rooms.search_recorder.record_search(
            found, session=session, identity=who, conversation=conversation, for_person=for_person
        )
        return found

    async def _find_skills(self, session: str | None, identity: Identity) -> tuple[Tool, ...]:
        """Returns the skills that the asker can see; a session that has not begun, or is another caller's, has none."""
        stores = self._rooms.session_stores
        try:
            handle = (await stores.sessions.find_by_name(session, identity=identity)).handle if session is not None else None
        except UnknownSession:
            handle = None
        found = await stores.list_skills_as_tools(SkillScope(identity=identity, session=handle))
        return self._rooms.content_masks.mask_tools(found, identity)

    async def list_servers(self) -> tuple[ServerSummary, ...]:
        """Returns every server and how many tools it has."""
        return self._rooms.discovery.list_servers()

    async def list_tools(self, server: str) -> tuple[Tool, ...]:
        """Returns the tools of one server.

        Raises:
            NotFound: there is no such server; the error carries near names.
        """
        return self._rooms.discovery.list_tools(server)

    async def modules(self) -> dict[str, tuple[str, ...]]:
        """Returns what code can import now: each server's module (``servers.<module>``) and its functions."""
        return self._rooms.discovery.modules()

    async def describe(
        self, keys: str | Sequence[str], *, language: Language = "python", session: str | None = None,
        identity: Identity | None = None, caller: str | None = None, tenant: str | None = None,
    ) -> DescribedTools:  # fmt: skip
        """Returns the tools with these keys (``server.tool``) in full, as values and as source to read.

        Raises:
            UnknownTool: no server has a tool with this key; the error carries near names.
        """
        skills = await self._find_skills(session, choose_identity(identity, caller=caller, tenant=tenant))
        return await self._rooms.discovery.describe(keys, language=language, skills=skills)

    async def servers(self) -> tuple[ServerRow, ...]:
        """Returns the status of each server: its state, its tools, its last error, the tokens of its definitions."""
        return await self._rooms.discovery.servers()

    async def definition_tokens(self) -> Mapping[str, int]:
        """Returns the tokens that each tool's definition would cost in a model's context, by the tool's key."""
        return await self._rooms.discovery.definition_tokens()

    async def changes(self) -> tuple[DefinitionChange, ...]:
        """Returns the tools whose definition is not the accepted one, and what differs."""
        return await self._rooms.discovery.changes()

    async def findings(self) -> tuple[DefinitionFinding, ...]:
        """Returns what is suspicious in the definitions: hidden characters, mentions of other servers' tools."""
        return await self._rooms.discovery.findings()

    async def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """Accepts the definitions that have changed: all, those of one server, or one tool's; returns the keys.

        Raises:
            NotFound: there is no such server or tool; the error carries near names.
        """
        return await self._rooms.discovery.accept(server=server, tool=tool)

    async def settled(self, seconds: float) -> None:
        """Waits, no longer than ``seconds``, for the first listing of servers whose tools are not known yet."""
        await self._rooms.discovery.wait_until_listed(seconds)

    async def add_tools(self, server: str, functions: Sequence[DescribedFunction]) -> None:
        """Adds functions of this process as tools of ``server``, as if the runtime had been opened with them.

        Functions that were added before stay; one of the same name is replaced.

        Raises:
            ConfigError: the name is that of a configured server, or reserved.
        """
        self._rooms.discovery.add_functions(server, functions)
        self._rooms.broker.trusted.add(server)

    async def choose_mode(self, question: str, *, identity: Identity | None = None) -> ChosenMode:
        """Chooses between a program and direct calls for ``question``, from the token accounts of its tenant; says why."""
        who = choose_identity(identity, caller=None, tenant=None)
        await self.settled(FIRST_LISTING_SECONDS)
        await self._rooms.recorder.accounts.wait_until_counted()
        await self._rooms.intake.store.flush()
        history = await self._rooms.spent.read_history(tenant=who.tenant, since=time.time() - MODE_SECONDS)
        return await self._rooms.discovery.choose_mode(question, history.calls)

    def session(self, name: str) -> Session:
        """Returns the session called ``name``; it begins with its first execution."""
        return Session(self, name)

    async def fork_session(
        self, session: str, branch: str, *, identity: Identity | None = None, caller: str | None = None, tenant: str | None = None
    ) -> None:
        """Branches the live interpreter of ``session``; both continue independently and share the session's files.

        Raises:
            UnknownSession: ``session`` has no live interpreter.
            Refused: it belongs to another caller, or a session with the branch's name exists.
        """
        rooms, sessions = self._rooms, self._rooms.session_stores.sessions
        who = choose_identity(identity, caller=caller, tenant=tenant)
        trunk = await sessions.find_by_name(session, identity=who, whole_tenant=True)
        if trunk.owner != who:
            raise Refused(f"the session name {session[:80]!r} is taken; choose another", rule="session.owner")
        if trunk.key not in rooms.interpreters.names:
            raise UnknownSession(f"session {session[:80]!r} keeps no live interpreter to fork: run something in it first")
        # The name is taken before the interpreter is copied: of several branches to one name, one is made.
        made = await sessions.create(branch, identity=who)
        try:
            await rooms.interpreters.fork(trunk.key, made.key)
            await rooms.mask_and_flow.branch_session(trunk.key, made.key)
        except (Error, OSError, asyncio.CancelledError):
            await rooms.interpreters.drop(made.key)
            await sessions.delete(made)
            raise
        rooms.session_stores.workspaces.share(trunk.key, made.key)

    async def delete_session(
        self, session: str, *, identity: Identity | None = None, caller: str | None = None, tenant: str | None = None
    ) -> bool:
        """Ends a session for good: deletes its interpreter, its files, its values and its skills of level `session`.

        Returns whether it is gone everywhere. If not, other processes that use the same store still drop what they keep of it,
        within seconds; nobody can use it any more.

        Raises:
            UnknownSession: there is no session of that name, or it does not belong to the caller, where one is given.
        """
        who, whole_tenant = choose_identity(identity, caller=caller, tenant=tenant), identity is None and caller is None
        found = await self._rooms.session_stores.sessions.find_by_name(session, identity=who, whole_tenant=whole_tenant)
        return await self._rooms.forget_session(found)

    async def drop_session(
        self, session: str, *, identity: Identity | None = None, caller: str | None = None, tenant: str | None = None
    ) -> None:
        """Ends the interpreter that ``session`` keeps; its files stay.

        Raises:
            UnknownSession: the session does not belong to the caller, where one is given.
        """
        who, named = choose_identity(identity, caller=caller, tenant=tenant), identity is not None or caller is not None
        sessions = self._rooms.session_stores.sessions
        try:
            found = await sessions.find_by_name(session, identity=who, whole_tenant=not named)
        except UnknownSession:
            if named:
                raise
            return  # there is nothing to drop
        await self._rooms.interpreters.drop(found.key)
        await self._rooms.typescript.drop(found.key)

    @property
    def sessions_kept(self) -> tuple[str, ...]:
        """Returns the sessions that keep an interpreter now, the one opened first in front."""
        return tuple(name.removesuffix(f"~{read_generation(name)}") for name in self._rooms.interpreters.names)

    def _cap_limits(self, asked: Mapping[str, Any] | Limits | None) -> Limits:
        allowed = self._allowed_limits
        if asked is None:
            return allowed
        if not isinstance(asked, Limits):
            try:
                asked = replace(allowed, **asked)
            except TypeError as error:
                known = ", ".join(Limits.__struct_fields__)
                raise ConfigError(f"unknown limit: {error}; known are {known}") from None
        check_limits(asked)
        names = Limits.__struct_fields__
        return replace(allowed, **{name: min(getattr(asked, name), getattr(allowed, name)) for name in names})
