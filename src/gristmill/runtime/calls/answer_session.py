"""What code asks of its session is answered here, in the hall: ``from session import kv``, ``from skills import save``."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any

from gristmill.errors import Refused, UnknownTool
from gristmill.model import Decision, Handler, Layer, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import SERVER
from gristmill.runtime.calls.proper_names import Find
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.open.session_stores import Keeping, skill_row
from gristmill.session.session_register import LOCAL
from gristmill.session.skills.skill import Draft, Level, Scope, skills_as_tools
from gristmill.upstream.python_functions import Inproc
from gristmill.values import dataclass

TenantOf = Callable[[ToolCall], str]
"""The tenant whose execution a call belongs to: from the verified token, never from what code says."""

_asking: ContextVar[ToolCall] = ContextVar("gristmill_session_call")


class AnswerSession:
    """A layer that answers the keys of the reserved server about values and skills, and passes all others on."""

    def __init__(self, keeping: Keeping, find: Find, tenant_of: TenantOf = lambda _: LOCAL) -> None:
        self._keeping, self._find, self._tenant_of = keeping, find, tenant_of

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer, or pass on.

        Raises:
            Refused: there is no session, or what was asked is not allowed.
            NotFound: no such skill.
            LimitExceeded: the session keeps too much.
        """
        server, _, name = call.tool.partition(".")
        if server != SERVER or name not in NAMES:
            return await proceed(call)
        token = _asking.set(call)
        try:
            return await self._questions.call(name, call)
        finally:
            _asking.reset(token)

    async def scope(self, call: ToolCall) -> Scope:
        """Who asks, by the call's own identity."""
        tenant = self._tenant_of(call)
        session = await self._keeping.sessions.open(call.session, tenant, call.caller) if call.session is not None else None
        return Scope(tenant=tenant, caller=call.caller, session=session.handle if session else None)

    async def skills_of(self, call: ToolCall) -> tuple[Tool, ...]:
        """The skills that whoever makes ``call`` can see, as search knows tools."""
        return skills_as_tools(await self._keeping.skills.list(await self.scope(call)))

    async def _scope(self) -> Scope:
        return await self.scope(_asking.get())

    async def _session(self) -> str:
        session = (await self._scope()).session
        if session is None:
            raise Refused("there is no session to keep values in: execute with session=...", rule="session.none")
        return session

    def _resolve(self, key: str) -> str | None:
        try:
            return self._find(key).key
        except UnknownTool:
            return None

    @cached_property
    def _questions(self) -> Inproc:
        """The questions as functions: what code sends is checked against their signatures."""
        return Inproc(SERVER, (*self._values(), *self._skills()), cheap=True)

    def _values(self) -> tuple[Callable[..., Any], ...]:
        values = self._keeping.values

        async def kv_get(key: str) -> dict[str, Any]:
            found, value = await values.get(await self._session(), key)
            return {"found": found, "value": value}

        async def kv_set(key: str, value: Any) -> None:
            await values.set(await self._session(), key, value)

        async def kv_delete(key: str) -> bool:
            return await values.delete(await self._session(), key)

        async def kv_keys() -> list[str]:
            return list(await values.keys(await self._session()))

        return kv_get, kv_set, kv_delete, kv_keys

    def _skills(self) -> tuple[Callable[..., Any], ...]:
        skills = self._keeping.skills

        async def skill_save(
            name: str,
            source: str,
            level: Level = "session",
            tests: str | None = None,
            requires: list[str] | None = None,
            tested: bool = False,
        ) -> dict[str, Any]:
            wanted = None if requires is None else tuple(requires)
            draft = Draft(name=name, source=source, tests=tests, requires=wanted, tested=tested)
            return skill_row(await skills.save(draft, await self._scope(), level, self._resolve))

        async def skill_source(name: str, version: int | None = None) -> dict[str, Any]:
            skill = await skills.load(name, await self._scope(), version)
            if missing := [tool for tool in skill.requires if self._resolve(tool) is None]:
                raise Refused(f"skills.{name} needs {', '.join(missing)}, which no server offers now", rule="skill.requires")
            return {"source": skill.source, **skill_row(skill)}

        async def skill_list() -> list[dict[str, Any]]:
            return [skill_row(skill) for skill in await skills.list(await self._scope())]

        async def skill_versions(name: str) -> list[dict[str, Any]]:
            return [skill_row(skill) for skill in await skills.versions(name, await self._scope())]

        async def skill_delete(name: str, level: Level = "session") -> int:
            return await skills.delete(name, await self._scope(), level)

        return skill_save, skill_source, skill_list, skill_versions, skill_delete


@dataclass(frozen=True, slots=True)
class KeepOnce:
    """A layer: a program that is run again for approvals finds its session as it was, and changes nothing in it twice."""

    run: Run
    session: AnswerSession
    replay: Layer

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer from the journal, wait with what waits already, or answer and write down.

        Raises:
            Refused: there is no session, or what was asked is not allowed.
            NotFound: no such skill.
            LimitExceeded: the session keeps too much.
        """
        server, _, name = call.tool.partition(".")
        if server != SERVER or name not in NAMES:
            return await proceed(call)
        run, before = self.run, self.run.before(call)
        decision = run.decisions[call.id] = Decision(effect="allow", rule="session", read_only=name not in CHANGES)
        is_known = before is not None and before.state == "done"
        if (run.planned or run.dry_run) and name in CHANGES and not is_known:
            return ToolResult(value=None, planned=run.plan(call, decision, needs_approval=False, was_lost=False))
        return await self.replay(call, partial(self.session, proceed=proceed))


CHANGES = frozenset(("kv_set", "kv_delete", "skill_save", "skill_delete"))
NAMES = CHANGES | {"kv_get", "kv_keys", "skill_source", "skill_list", "skill_versions"}
