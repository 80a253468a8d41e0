"""The client for code without an event loop: one loop in a thread, no second implementation."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Literal, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.http_client.async_client import URL, AsyncClient
from gristmill.model import Outcome

T = TypeVar("T")


class Client(AbstractContextManager["Client"]):
    """``with Client(url, token=...) as client: client.execute("6 * 7")``."""

    def __init__(self, url: str = URL, *, token: str | None = None, timeout: float = 120.0, retries: int = 4) -> None:
        """As ``AsyncClient``."""
        self._made: Callable[[], AsyncClient] = lambda: AsyncClient(url, token=token, timeout=timeout, retries=retries)
        self._stack = ExitStack()
        self._opened: tuple[BlockingPortal, AsyncClient] | None = None

    def __enter__(self) -> "Client":
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            client = self._made()
            stack.callback(portal.call, client.close)
            self._opened, self._stack = (portal, client), stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def execute(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> Outcome:
        """As ``AsyncClient.execute``."""
        return self._call(lambda client: client.execute(code, idempotency_key=idempotency_key, **options))

    def start(self, code: str | None = None, **options: Any) -> str:
        """As ``AsyncClient.start``."""
        return self._call(lambda client: client.start(code, **options))

    def stream(self, code: str | None = None, **options: Any) -> Generator[dict[str, Any]]:
        """As ``AsyncClient.stream``."""
        yield from self.events(self.start(code, **options))

    def events(self, execution: str, *, after: int = 0) -> Generator[dict[str, Any]]:
        """As ``AsyncClient.events``."""
        found = self._open()[1].events(execution, after=after)
        try:
            while (event := self._call(lambda _: anext(found, None))) is not None:
                yield event
        finally:
            self._call(lambda _: found.aclose())

    def execution(self, execution: str) -> dict[str, Any]:
        """As ``AsyncClient.execution``."""
        return self._call(lambda client: client.execution(execution))

    def wait(self, execution: str) -> Outcome:
        """As ``AsyncClient.wait``."""
        return self._call(lambda client: client.wait(execution))

    def cancel(self, execution: str) -> None:
        """As ``AsyncClient.cancel``."""
        self._call(lambda client: client.cancel(execution))

    def search(self, query: str, *, detail_level: str = "full", limit: int = 5) -> dict[str, Any]:
        """As ``AsyncClient.search``."""
        return self._call(lambda client: client.search(query, detail_level=detail_level, limit=limit))

    def upload(self, session: str, path: str, content: bytes) -> dict[str, Any]:
        """As ``AsyncClient.upload``."""
        return self._call(lambda client: client.upload(session, path, content))

    def download(self, session: str, path: str) -> bytes:
        """As ``AsyncClient.download``."""
        return self._call(lambda client: client.download(session, path))

    def approvals(self) -> list[dict[str, Any]]:
        """As ``AsyncClient.approvals``."""
        return self._call(lambda client: client.approvals())

    def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """As ``AsyncClient.decide``."""
        return self._call(lambda client: client.decide(approval, approve))

    def get(self, path: str, **query: Any) -> Any:
        """As ``AsyncClient.get``."""
        return self._call(lambda client: client.get(path, **query))

    def _open(self) -> tuple[BlockingPortal, AsyncClient]:
        if self._opened is None:
            raise RuntimeError("enter the client first: `with Client() as client:`")
        return self._opened

    def _call(self, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
        portal, client = self._open()

        async def run() -> T:
            return await work(client)

        return portal.call(run)
