"""The client for code without an event loop: runs the asynchronous client in a thread, with no second implementation."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Literal, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.http_client.async_client import AsyncClient
from gristmill.http_client.blocking_chat import BlockingChat
from gristmill.model import Outcome

T = TypeVar("T")


class Client(AbstractContextManager["Client"]):
    """The blocking client: ``with Client(url, token=...) as client: client.execute("6 * 7")``."""

    def __init__(self, url: str | None = None, *, token: str | None = None, timeout: float = 120.0, retries: int = 4) -> None:
        """Takes the same arguments as ``AsyncClient``."""
        self._make_client: Callable[[], AsyncClient] = lambda: AsyncClient(url, token=token, timeout=timeout, retries=retries)
        self._stack = ExitStack()
        self._opened: tuple[BlockingPortal, AsyncClient] | None = None
        self.chat = BlockingChat(self)
        """The chat of the service."""

    def __enter__(self) -> "Client":
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            client = self._make_client()
            stack.callback(portal.call, client.close)
            self._opened, self._stack = (portal, client), stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Returns the event loop, in another thread, on which ``client`` is used."""
        return self._get_opened()[0].call(asyncio.get_running_loop)

    @property
    def client(self) -> AsyncClient:
        """Returns the asynchronous client; use it only on ``loop``."""
        return self._get_opened()[1]

    def execute(self, code: str | None = None, *, idempotency_key: str | None = None, **options: Any) -> Outcome:
        """Does the same as ``AsyncClient.execute``."""
        return self.run_async(lambda client: client.execute(code, idempotency_key=idempotency_key, **options))

    def start(self, code: str | None = None, **options: Any) -> str:
        """Does the same as ``AsyncClient.start``."""
        return self.run_async(lambda client: client.start(code, **options))

    def stream(self, code: str | None = None, **options: Any) -> Generator[dict[str, Any]]:
        """Does the same as ``AsyncClient.stream``."""
        yield from self.events(self.start(code, **options))

    def events(self, execution: str, *, after: int = 0) -> Generator[dict[str, Any]]:
        """Does the same as ``AsyncClient.events``."""
        return self.iterate_events(lambda client: client.events(execution, after=after))

    def execution(self, execution: str) -> dict[str, Any]:
        """Does the same as ``AsyncClient.execution``."""
        return self.run_async(lambda client: client.execution(execution))

    def wait(self, execution: str) -> Outcome:
        """Does the same as ``AsyncClient.wait``."""
        return self.run_async(lambda client: client.wait(execution))

    def cancel(self, execution: str) -> None:
        """Does the same as ``AsyncClient.cancel``."""
        self.run_async(lambda client: client.cancel(execution))

    def revert(self, execution: str) -> Outcome:
        """Does the same as ``AsyncClient.revert``."""
        return self.run_async(lambda client: client.revert(execution))

    def search(self, query: str, *, detail_level: str = "full", limit: int = 5) -> dict[str, Any]:
        """Does the same as ``AsyncClient.search``."""
        return self.run_async(lambda client: client.search(query, detail_level=detail_level, limit=limit))

    def upload(self, session: str, path: str, content: bytes) -> dict[str, Any]:
        """Does the same as ``AsyncClient.upload``."""
        return self.run_async(lambda client: client.upload(session, path, content))

    def download(self, session: str, path: str) -> bytes:
        """Does the same as ``AsyncClient.download``."""
        return self.run_async(lambda client: client.download(session, path))

    def approvals(self) -> list[dict[str, Any]]:
        """Does the same as ``AsyncClient.approvals``."""
        return self.run_async(lambda client: client.approvals())

    def decide(self, approval: str, approve: Literal["all", "none"] | Sequence[int]) -> dict[str, Any]:
        """Does the same as ``AsyncClient.decide``."""
        return self.run_async(lambda client: client.decide(approval, approve))

    def send_feedback(
        self, id: str, *, thumb: Literal["up", "down"] | None = None, complaint: bool = False, accuracy: float | None = None,  # noqa: A002
        comment: str = "",
    ) -> None:  # fmt: skip
        """Does the same as ``AsyncClient.send_feedback``."""
        self.run_async(
            lambda client: client.send_feedback(id, thumb=thumb, complaint=complaint, accuracy=accuracy, comment=comment)
        )

    def get(self, path: str, **query: Any) -> Any:
        """Does the same as ``AsyncClient.get``."""
        return self.run_async(lambda client: client.get(path, **query))

    def _get_opened(self) -> tuple[BlockingPortal, AsyncClient]:
        if self._opened is None:
            raise RuntimeError("enter the client first: `with Client() as client:`")
        return self._opened

    def iterate_events(self, begin: Callable[[AsyncClient], AsyncGenerator[dict[str, Any]]]) -> Generator[dict[str, Any]]:
        """Yields the events that the asynchronous client gives; closing the generator closes them."""
        found = begin(self._get_opened()[1])
        try:
            while (event := self.run_async(lambda _: anext(found, None))) is not None:
                yield event
        finally:
            self.run_async(lambda _: found.aclose())

    def run_async(self, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
        """Runs work with the asynchronous client, in its thread."""
        portal, client = self._get_opened()

        async def run() -> T:
            return await work(client)

        return portal.call(run)
