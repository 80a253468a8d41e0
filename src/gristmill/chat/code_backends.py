"""What runs code for LangChain: an open runtime of this process, or a service over HTTP, behind one asynchronous face."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, Protocol, cast
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, field

from gristmill.errors import NotFound, Refused
from gristmill.http_client import AsyncClient
from gristmill.model import LOCAL_IDENTITY, Budget, Identity, Json, Outcome, Tool
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.keyed_runs import execute_once
from gristmill.runs.served_runs import ServedRuns, open_runs
from gristmill.runs.start_run import RunRequest, begin_execution, wait_for_outcome
from gristmill.runtime.execution.execute import name_approver
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.choose_mode import ChosenMode, choose_unknown_mode
from gristmill.runtime.values.search_values import DetailLevel

VIA = "langchain"
_senders: WeakKeyDictionary[Runtime, dict[str, "Listen"]] = WeakKeyDictionary()
START_SECONDS = 20.0
"""How long a tool is waited for whose server has not started yet."""
FORWARD_SECONDS = 10.0
"""How long events of a run that has ended may take to arrive."""
Listen = Callable[[Any], None]
"""Receives the events of a run, in the form in which the HTTP service sends them, and the nested calls of plain tools."""
Approved = Literal["all", "none"] | list[int]


class CodeRequest(Struct, frozen=True, kw_only=True):
    """A program to execute. With a ``key`` it is executed once, however often and in whichever process it is asked for."""

    code: str | None = None
    session: str | None = None
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    limits: Mapping[str, Any] | None = None
    budget: int | None = None
    identity: Identity = LOCAL_IDENTITY
    key: str | None = None
    resume: str | None = None
    conversation: str | None = None
    """The loop of a model that the token accounts add up."""


class SearchedTools(Struct, frozen=True, kw_only=True):
    """What a search found: the text for a model, and the keys of the tools."""

    text: str
    keys: tuple[str, ...]


class CodeBackend(Protocol):
    """Finds tools, executes code, and takes decisions about plans."""

    async def search(self, query: str, *, detail_level: DetailLevel, limit: int, request: CodeRequest) -> SearchedTools: ...

    async def execute(self, request: CodeRequest, listen: Listen | None) -> Outcome: ...

    async def decide(self, approval: str, approve: Approved, *, by: str | None, identity: Identity) -> None: ...

    async def describe(self, key: str) -> Tool: ...

    async def choose_mode(self, question: str, *, identity: Identity) -> ChosenMode: ...

    async def estimate_direct(self, execution: str, *, identity: Identity) -> int | None: ...

    async def upload(self, session: str, path: str, content: bytes, *, identity: Identity) -> None: ...

    async def download(self, session: str, path: str, *, identity: Identity) -> bytes: ...


class RuntimeBackend:
    """An open ``Runtime``. All methods run on the loop of the runtime."""

    def __init__(self, runtime: Runtime, runs: ServedRuns | None = None, *, via: str = VIA) -> None:
        self.runtime, self._via = runtime, via
        self.senders = _senders.setdefault(runtime, {})
        """Who listens to each running execution of this runtime, through whichever agent it came."""
        self._opened = runs

    async def search(self, query: str, *, detail_level: DetailLevel, limit: int, request: CodeRequest) -> SearchedTools:
        """Searches the tools of the runtime."""
        found = await self.runtime.search(
            query, detail_level=detail_level, limit=limit, session=request.session, identity=request.identity
        )
        return SearchedTools(text=found.text, keys=tuple(hit.tool.key for hit in found.hits))

    async def execute(self, request: CodeRequest, listen: Listen | None) -> Outcome:
        """Executes in the turn of its tenant; once, if the request has a key."""
        if request.key is None:
            return await self._execute_as(request, listen, None, request.resume)

        async def execute_keyed(key: str, resume: str | None) -> Outcome:
            return await self._execute_as(request, listen, key, resume or request.resume)

        return await execute_once(execute_keyed, request.key)

    async def _execute_as(self, request: CodeRequest, listen: Listen | None, key: str | None, resume: str | None) -> Outcome:
        if self._opened is None:
            self._opened = open_runs(self.runtime)
        budget = None if request.budget is None else Budget(result_tokens=request.budget)
        run, was_found = await begin_execution(
            self._opened,
            RunRequest(
                identity=request.identity, code=request.code, session=request.session, limits=request.limits,
                context=request.context, resume=resume, budget=budget, key=key, via=self._via, conversation=request.conversation,
                fingerprint=None if key is None else _digest_request(request, resume),
            ),
        )  # fmt: skip
        if listen and not was_found:
            self.senders[run.id] = listen  # no await lies between the start of the run and this line
        forwarding = asyncio.create_task(_forward_events(run, listen)) if listen else None
        try:
            return await wait_for_outcome(self._opened, run)
        except asyncio.CancelledError:
            run.cancel()
            raise
        finally:
            if listen and not was_found:
                del self.senders[run.id]
            if forwarding is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(forwarding, FORWARD_SECONDS)

    async def decide(self, approval: str, approve: Approved, *, by: str | None, identity: Identity) -> None:
        """Records the decision; one that was recorded before stays.

        Raises:
            Refused: the plan has expired, or lacks a call of a given number.
        """
        approvals = self.runtime.approvals
        try:
            await approvals.decide(approval, approve, by=by or name_approver(identity.caller), tenant=identity.tenant)
        except Refused as refusal:
            decided = refusal.rule == "approval.once" and (await approvals.get(approval)).standing in ("approved", "denied")
            if not decided:
                raise

    async def describe(self, key: str) -> Tool:
        """Returns the definition of one tool; one that is not known yet is waited for while servers still start."""
        try:
            return (await self.runtime.describe(key)).tools[0]
        except NotFound:
            await self.runtime.settled(START_SECONDS)
        return (await self.runtime.describe(key)).tools[0]

    async def choose_mode(self, question: str, *, identity: Identity) -> ChosenMode:
        """Chooses from the token accounts between code and direct calls."""
        return await self.runtime.choose_mode(question, identity=identity)

    async def estimate_direct(self, execution: str, *, identity: Identity) -> int | None:
        """Returns the input tokens that direct calls would have cost instead of this execution; None if that is not known."""
        try:
            found = await self.runtime.stats(execution=execution, tenant=identity.tenant)
        except NotFound:
            return None
        return found.savings.ways.direct.resent

    async def upload(self, session: str, path: str, content: bytes, *, identity: Identity) -> None:
        """Writes a file into the workspace of the session."""
        opened = await self.runtime.session_stores.sessions.open(session, identity=identity)
        await asyncio.to_thread(self.runtime.session_stores.files(opened).write, path, content)

    async def download(self, session: str, path: str, *, identity: Identity) -> bytes:
        """Reads a file of the session's workspace."""
        opened = await self.runtime.session_stores.sessions.open(session, identity=identity)
        return (await asyncio.to_thread(self.runtime.session_stores.files(opened).read, path)).body


class HttpBackend:
    """A service over HTTP. Its tokens say who asks; ``approver`` is a client whose token may approve."""

    def __init__(self, client: AsyncClient, approver: AsyncClient | None = None) -> None:
        self._client, self._approver = client, approver or client

    async def search(self, query: str, *, detail_level: DetailLevel, limit: int, request: CodeRequest) -> SearchedTools:  # noqa: ARG002
        """Searches the tools of the service."""
        found = await self._client.search(query, detail_level=detail_level, limit=limit)
        return SearchedTools(text=str(found["text"]), keys=tuple(str(hit["tool"]) for hit in found["hits"]))

    async def execute(self, request: CodeRequest, listen: Listen | None) -> Outcome:
        """Executes at the service; once, if the request has a key."""
        if request.key is None:
            return await self._execute_as(request, listen, None, request.resume)

        async def execute_keyed(key: str, resume: str | None) -> Outcome:
            return await self._execute_as(request, listen, key, resume or request.resume)

        return await execute_once(execute_keyed, request.key)

    async def _execute_as(self, request: CodeRequest, listen: Listen | None, key: str | None, resume: str | None) -> Outcome:
        options: dict[str, Any] = {
            "session": request.session if resume is None else None, "context": dict(request.context) or None,
            "limits": dict(request.limits) if request.limits else None, "budget": request.budget, "resume": resume,
        }  # fmt: skip
        if key is not None:
            key = hashlib.sha256(key.encode()).hexdigest()
        if listen is None:
            return await self._client.execute(request.code, idempotency_key=key, **options)
        started = await self._client.start(request.code, idempotency_key=key, **options)
        try:
            async for event in self._client.events(started):
                if event["type"] not in ("outcome", "problem"):
                    listen(event)
        except asyncio.CancelledError:
            await asyncio.shield(self._client.cancel(started))
            raise
        return await self._client.wait(started)

    async def decide(self, approval: str, approve: Approved, *, by: str | None, identity: Identity) -> None:  # noqa: ARG002
        """Records the decision with the approver's token; one that was recorded before stays.

        Raises:
            Refused: the token may not approve, the plan has expired, or lacks a call of a given number.
        """
        try:
            await self._approver.decide(approval, approve)
        except Refused as refusal:
            if refusal.rule != "approval.once":
                raise
            found: Mapping[str, Any] = await self._approver.get(f"/approvals/{approval}")
            if found["standing"] not in ("approved", "denied"):
                raise

    async def describe(self, key: str) -> Tool:
        """Returns the definition of one tool."""
        server, _, name = key.partition(".")
        found: Mapping[str, Any] = await self._client.get(f"/tools/{server}/{name}")
        names = ("server", "name", "description", "input_schema", "output_schema", "annotations")
        return msgspec.convert({field: found[field] for field in names}, Tool)

    async def choose_mode(self, question: str, *, identity: Identity) -> ChosenMode:  # noqa: ARG002
        """Chooses code: the accounts of a service are not read from here."""
        return choose_unknown_mode(
            "the token accounts are at the service, so programs are used, which cost least for large results"
        )

    async def estimate_direct(self, execution: str, *, identity: Identity) -> int | None:  # noqa: ARG002
        """Returns the same from the service, if the token may read its accounts."""
        try:
            found: Mapping[str, Any] = await self._client.get("/stats", execution=execution)
        except (NotFound, Refused):
            return None
        return int(found["tokens"]["savings"]["ways"]["direct"]["resent"])

    async def upload(self, session: str, path: str, content: bytes, *, identity: Identity) -> None:  # noqa: ARG002
        """Puts a file into the workspace of the session."""
        await self._client.upload(session, path, content)

    async def download(self, session: str, path: str, *, identity: Identity) -> bytes:  # noqa: ARG002
        """Returns a file of the session's workspace."""
        return await self._client.download(session, path)


def _digest_request(request: CodeRequest, resume: str | None) -> str:
    asked = msgspec.structs.replace(request, key=None, resume=resume)
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()


async def _forward_events(run: ActiveRun, listen: Listen) -> None:
    async for event in run.events.follow():
        if event is not None and event.name not in ("outcome", "problem"):
            listen(cast("Mapping[str, Any]", msgspec.json.decode(event.text)))
