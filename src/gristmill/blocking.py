"""The synchronous API: it runs `Runtime` on an event loop in another thread and implements nothing a second time."""

# Annotations stay text, as in `runtime/runtime.py`, so that naming the types of answers does not import their modules.
from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.catalog.search.search_hits import BUDGET_TOKENS
from gristmill.events import Emit, ignore_event
from gristmill.runtime.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from gristmill.catalog.pins.pinned_definitions import DefinitionChange
    from gristmill.catalog.pins.scan_definitions import DefinitionFinding
    from gristmill.catalog.search.search_hits import DetailLevel, ServerSummary
    from gristmill.config.tree import Config
    from gristmill.guard.policy.approvals import Approval
    from gristmill.model import Budget, Identity, Isolation, Json, Language, Limits, Outcome, Plan, Strategy, Tool
    from gristmill.runtime.tools.discovery import DescribedTools, SearchAnswer, ServerRow
    from gristmill.upstream.base import Ask
    from gristmill.upstream.python_functions import Function

T = TypeVar("T")


class BlockingRuntime(AbstractContextManager["BlockingRuntime"]):
    """``Runtime`` for code without an event loop: ``with BlockingRuntime() as runtime: runtime.execute("1 + 1")``."""

    def __init__(
        self, config: Config | str | Path | None = None, *, tools: Mapping[str, Function] | None = None, **options: Any
    ) -> None:
        """Takes the arguments of ``Runtime.open``; ``emit`` and ``ask`` are called from another thread."""
        self._config, self._tools, self._options = config, tools, options
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._runtime: Runtime | None = None

    def __enter__(self) -> BlockingRuntime:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            opened = Runtime.open(self._config, tools=self._tools, **self._options)
            self._runtime = stack.enter_context(self._portal.wrap_async_context_manager(opened))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @property
    def runtime(self) -> Runtime:
        """Returns the asynchronous runtime; use it only on its own event loop, ``runtime.loop``, which runs in another thread."""
        return self._opened_runtime()

    @property
    def isolation(self) -> Isolation:
        """The isolation level in force."""
        return self._opened_runtime().isolation

    def execute(
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
        approve: Callable[[Plan], Literal["all", "none"] | Sequence[int]] | None = None,
        emit: Emit = ignore_event,
        ask: Ask | None = None,
        language: Language | None = None,
        title: str | None = None,
    ) -> Outcome:
        """Does the same as ``Runtime.execute``; ``emit``, ``ask`` and ``approve`` are called from another thread."""

        async def ask_in_thread(plan: Plan) -> Literal["all", "none"] | Sequence[int]:
            assert approve is not None
            return await to_thread.run_sync(approve, plan)

        return self._call_method(
            "execute", code, session=session, limits=limits, context=context, resume=resume, budget=budget, strategy=strategy,
            identity=identity, caller=caller, tenant=tenant, approve=ask_in_thread if approve else None, emit=emit, ask=ask,
            language=language, title=title,
        )  # fmt: skip

    def revert(self, execution: str, *, identity: Identity | None = None) -> Outcome:
        """Does the same as ``Runtime.revert``; the calls wait for approval, then ``execute(resume=...)`` makes them."""
        return self._call_method("revert", execution, identity=identity)

    def pending_approvals(self) -> tuple[Approval, ...]:
        """Does the same as ``Runtime.approvals.list``."""
        return self._run_on_loop(self._opened_runtime().approvals.list)

    def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int], *, by: str) -> Approval:
        """Does the same as ``Runtime.approvals.decide``."""
        return self._run_on_loop(lambda: self._opened_runtime().approvals.decide(approval, approve, by=by))

    def search(
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
    ) -> SearchAnswer:
        """Does the same as ``Runtime.search``."""
        options = {"detail_level": detail_level, "limit": limit, "server": server, "budget_tokens": budget_tokens}
        asker = {"session": session, "identity": identity, "caller": caller, "tenant": tenant}
        return self._call_method("search", query, **options, **asker)

    def list_servers(self) -> tuple[ServerSummary, ...]:
        """Does the same as ``Runtime.list_servers``."""
        return self._call_method("list_servers")

    def list_tools(self, server: str) -> tuple[Tool, ...]:
        """Does the same as ``Runtime.list_tools``."""
        return self._call_method("list_tools", server)

    def modules(self) -> dict[str, tuple[str, ...]]:
        """Does the same as ``Runtime.modules``."""
        return self._call_method("modules")

    def describe(self, keys: str | Sequence[str], *, language: Language = "python", **asker: Any) -> DescribedTools:
        """Does the same as ``Runtime.describe``; ``asker`` says who asks, in its words."""
        return self._call_method("describe", keys, language=language, **asker)

    def servers(self) -> tuple[ServerRow, ...]:
        """Does the same as ``Runtime.servers``."""
        return self._call_method("servers")

    def changes(self) -> tuple[DefinitionChange, ...]:
        """Does the same as ``Runtime.changes``."""
        return self._call_method("changes")

    def findings(self) -> tuple[DefinitionFinding, ...]:
        """Does the same as ``Runtime.findings``."""
        return self._call_method("findings")

    def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """Does the same as ``Runtime.accept``."""
        return self._call_method("accept", server=server, tool=tool)

    def settled(self, seconds: float) -> None:
        """Does the same as ``Runtime.settled``."""
        self._call_method("settled", seconds)

    def fork_session(self, session: str, branch: str, **asker: Any) -> None:
        """Does the same as ``Runtime.fork_session``; ``asker`` says who asks, in its words."""
        self._call_method("fork_session", session, branch, **asker)

    def delete_session(self, session: str, **asker: Any) -> None:
        """Does the same as ``Runtime.delete_session``; ``asker`` says who asks, in its words."""
        self._call_method("delete_session", session, **asker)

    def drop_session(self, session: str, **asker: Any) -> None:
        """Does the same as ``Runtime.drop_session``; ``asker`` says who asks, in its words."""
        self._call_method("drop_session", session, **asker)

    def _opened_runtime(self) -> Runtime:
        if self._runtime is None:
            raise RuntimeError("enter the runtime first: `with BlockingRuntime() as runtime:`")
        return self._runtime

    def _run_on_loop(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        assert self._portal is not None
        return self._portal.call(work)

    def _call_method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self._opened_runtime(), name)
        assert self._portal is not None
        return self._portal.call(lambda: method(*args, **kwargs))
