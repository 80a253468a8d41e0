"""The synchronous face: one event loop in a thread, no second implementation."""

# Annotations stay text, as in `runtime/runtime.py`: naming what a runtime answers with loads nothing of it.
from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.catalog.search.search_hits import BUDGET_TOKENS
from gristmill.events import Emit, ignore
from gristmill.runtime.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from gristmill.catalog.pins.pinned_definitions import Change
    from gristmill.catalog.pins.scan_definitions import Finding
    from gristmill.catalog.search.search_hits import DetailLevel, ServerSummary
    from gristmill.config.tree import Config
    from gristmill.guard.policy.approvals import Approval
    from gristmill.model import Budget, Isolation, Json, Limits, Outcome, Plan, Strategy, Tool
    from gristmill.runtime.tools.discovery import Described, Found, Language, ServerRow
    from gristmill.upstream.base import Ask
    from gristmill.upstream.python_functions import Function

T = TypeVar("T")


class BlockingRuntime(AbstractContextManager["BlockingRuntime"]):
    """``Runtime`` for code without an event loop: ``with BlockingRuntime() as runtime: runtime.execute("1 + 1")``."""

    def __init__(
        self, config: Config | str | Path | None = None, *, tools: Mapping[str, Function] | None = None, **options: Any
    ) -> None:
        """As ``Runtime.open``, whose other arguments are taken too; ``emit`` and ``ask`` are called from another thread."""
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
    def isolation(self) -> Isolation:
        """The level in force."""
        return self._open().isolation

    def execute(
        self,
        code: str | None = None,
        *,
        session: str | None = None,
        limits: Mapping[str, Any] | Limits | None = None,
        context: Mapping[str, Json] | None = None,
        resume: str | None = None,
        budget: Budget | None = None,
        strategy: Strategy | None = None,
        approve: Callable[[Plan], Literal["all", "none"] | Sequence[int]] | None = None,
        emit: Emit = ignore,
        ask: Ask | None = None,
    ) -> Outcome:
        """As ``Runtime.execute``; ``emit``, ``ask`` and ``approve`` are called from another thread."""

        async def show(plan: Plan) -> Literal["all", "none"] | Sequence[int]:
            assert approve is not None
            return await to_thread.run_sync(approve, plan)

        return self._call(
            "execute", code, session=session, limits=limits, context=context, resume=resume, budget=budget, strategy=strategy,
            approve=show if approve else None, emit=emit, ask=ask,
        )  # fmt: skip

    def pending_approvals(self) -> tuple[Approval, ...]:
        """As ``Runtime.approvals.list``."""
        return self._run(self._open().approvals.list)

    def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int], *, by: str) -> Approval:
        """As ``Runtime.approvals.decide``."""
        return self._run(lambda: self._open().approvals.decide(approval, approve, by=by))

    def search(
        self,
        query: str,
        *,
        detail_level: DetailLevel = "full",
        limit: int = 5,
        server: str | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        session: str | None = None,
    ) -> Found:
        """As ``Runtime.search``."""
        how = {"detail_level": detail_level, "limit": limit, "server": server, "budget_tokens": budget_tokens}
        return self._call("search", query, **how, session=session)

    def list_servers(self) -> tuple[ServerSummary, ...]:
        """As ``Runtime.list_servers``."""
        return self._call("list_servers")

    def list_tools(self, server: str) -> tuple[Tool, ...]:
        """As ``Runtime.list_tools``."""
        return self._call("list_tools", server)

    def modules(self) -> dict[str, tuple[str, ...]]:
        """As ``Runtime.modules``."""
        return self._call("modules")

    def describe(self, keys: str | Sequence[str], *, language: Language = "python") -> Described:
        """As ``Runtime.describe``."""
        return self._call("describe", keys, language=language)

    def servers(self) -> tuple[ServerRow, ...]:
        """As ``Runtime.servers``."""
        return self._call("servers")

    def changes(self) -> tuple[Change, ...]:
        """As ``Runtime.changes``."""
        return self._call("changes")

    def findings(self) -> tuple[Finding, ...]:
        """As ``Runtime.findings``."""
        return self._call("findings")

    def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """As ``Runtime.accept``."""
        return self._call("accept", server=server, tool=tool)

    def settled(self, seconds: float) -> None:
        """As ``Runtime.settled``."""
        self._call("settled", seconds)

    def fork_session(self, session: str, branch: str) -> None:
        """As ``Runtime.fork_session``."""
        self._call("fork_session", session, branch)

    def delete_session(self, session: str) -> None:
        """As ``Runtime.delete_session``."""
        self._call("delete_session", session)

    def drop_session(self, session: str) -> None:
        """As ``Runtime.drop_session``."""
        self._call("drop_session", session)

    def _open(self) -> Runtime:
        if self._runtime is None:
            raise RuntimeError("enter the runtime first: `with BlockingRuntime() as runtime:`")
        return self._runtime

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        assert self._portal is not None
        return self._portal.call(work)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self._open(), name)
        assert self._portal is not None
        return self._portal.call(lambda: method(*args, **kwargs))
