"""Answers what code asks of its session, in the hall: ``from session import kv``, ``from skills import save``."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any

from msgspec import Struct

from gristmill.errors import Refused, UnknownTool
from gristmill.model import Decision, Handler, Layer, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER
from gristmill.runtime.calls.proper_names import Find
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.open.session_stores import SessionStores, make_skill_row
from gristmill.session.skills.skill import Level, SkillDraft, SkillScope
from gristmill.session.skills.skill_summary import convert_summaries
from gristmill.upstream.python_functions import PythonFunctions

_current_call: ContextVar[ToolCall] = ContextVar("gristmill_session_call")


class AnswerSession:
    """A layer that answers the keys of the reserved server about values and skills, and passes all others on."""

    def __init__(self, stores: SessionStores, find: Find) -> None:
        self._stores, self._find = stores, find

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answers the call, or passes it on.

        Raises:
            Refused: there is no session, or the request is not allowed.
            NotFound: there is no such skill.
            LimitExceeded: the session keeps too many values or skills.
        """
        server, _, name = call.tool.partition(".")
        if server != RESERVED_SERVER or name not in SESSION_NAMES:
            return await proceed(call)
        token = _current_call.set(call)
        try:
            return await self._functions.call(name, call)
        finally:
            _current_call.reset(token)

    async def find_scope(self, call: ToolCall) -> SkillScope:
        """Returns who asks. The identity of a call comes from the verified token, never from what code says."""
        found = await self._stores.sessions.open(call.session, identity=call.identity) if call.session is not None else None
        return SkillScope(identity=call.identity, session=found.handle if found else None)

    async def find_skills(self, call: ToolCall) -> tuple[Tool, ...]:
        """Returns the skills that the maker of ``call`` can see, in the form that search uses for tools."""
        return convert_summaries(await self._stores.skills.list(await self.find_scope(call)))

    async def _find_current_scope(self) -> SkillScope:
        return await self.find_scope(_current_call.get())

    async def _require_session(self) -> str:
        session = (await self._find_current_scope()).session
        if session is None:
            raise Refused("there is no session to keep values in: execute with session=...", rule="session.none")
        return session

    def _find_tool_key(self, key: str) -> str | None:
        try:
            return self._find(key).key
        except UnknownTool:
            return None

    @cached_property
    def _functions(self) -> PythonFunctions:
        """Returns the questions as Python functions: what code sends is checked against their signatures."""
        return PythonFunctions(RESERVED_SERVER, (*self._build_value_functions(), *self._build_skill_functions()), cheap=True)

    def _build_value_functions(self) -> tuple[Callable[..., Any], ...]:
        values = self._stores.values

        async def kv_get(key: str) -> dict[str, Any]:
            found, value = await values.get(await self._require_session(), key)
            return {"found": found, "value": value}

        async def kv_set(key: str, value: Any) -> None:
            await values.set(await self._require_session(), key, value)

        async def kv_delete(key: str) -> bool:
            return await values.delete(await self._require_session(), key)

        async def kv_keys() -> list[str]:
            return list(await values.keys(await self._require_session()))

        return kv_get, kv_set, kv_delete, kv_keys

    def _build_skill_functions(self) -> tuple[Callable[..., Any], ...]:
        skills = self._stores.skills

        async def skill_save(
            name: str,
            source: str,
            level: Level = "session",
            tests: str | None = None,
            requires: list[str] | None = None,
            tested: bool = False,
        ) -> dict[str, Any]:
            wanted = None if requires is None else tuple(requires)
            draft = SkillDraft(name=name, source=source, tests=tests, requires=wanted, tested=tested)
            return make_skill_row(await skills.save(draft, await self._find_current_scope(), level, self._find_tool_key))

        async def skill_source(name: str, version: int | None = None) -> dict[str, Any]:
            skill = await skills.load(name, await self._find_current_scope(), version)
            if missing := [tool for tool in skill.requires if self._find_tool_key(tool) is None]:
                raise Refused(f"skills.{name} needs {', '.join(missing)}, which no server offers now", rule="skill.requires")
            return {"source": skill.source, **make_skill_row(skill)}

        async def skill_list() -> list[dict[str, Any]]:
            return [make_skill_row(skill) for skill in await skills.list(await self._find_current_scope())]

        async def skill_versions(name: str) -> list[dict[str, Any]]:
            return [make_skill_row(skill) for skill in await skills.versions(name, await self._find_current_scope())]

        async def skill_delete(name: str, level: Level = "session") -> int:
            return await skills.delete(name, await self._find_current_scope(), level)

        return skill_save, skill_source, skill_list, skill_versions, skill_delete


class ChangeSessionOnce(Struct, frozen=True):
    """A layer: a program that is run again after approvals finds its session as it was, and changes nothing in it twice."""

    run: ExecutionState
    session: AnswerSession
    replay: Layer

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answers from the journal, plans a change that follows a planned call, or answers and records the answer.

        Raises:
            Refused: there is no session, or the request is not allowed.
            NotFound: there is no such skill.
            LimitExceeded: the session keeps too many values or skills.
        """
        server, _, name = call.tool.partition(".")
        if server != RESERVED_SERVER or name not in SESSION_NAMES:
            return await proceed(call)
        run, before = self.run, self.run.find_recorded(call)
        decision = run.decisions[call.id] = Decision(effect="allow", rule="session", read_only=name not in CHANGING_NAMES)
        is_known = before is not None and before.state == "done"
        if (run.planned or run.dry_run) and name in CHANGING_NAMES and not is_known:
            return ToolResult(value=None, planned=run.plan_call(call, decision, needs_approval=False, was_lost=False))
        return await self.replay(call, partial(self.session, proceed=proceed))


CHANGING_NAMES = frozenset(("kv_set", "kv_delete", "skill_save", "skill_delete"))
SESSION_NAMES = CHANGING_NAMES | {"kv_get", "kv_keys", "skill_source", "skill_list", "skill_versions"}
