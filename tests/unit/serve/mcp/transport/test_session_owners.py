"""Sessions of the protocol are counted by tenant, and one tenant's many are nobody else's trouble."""

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from gristmill.model import Identity
from gristmill.serve.mcp.transport.session_owners import IDENTITY, IDLE_SECONDS, SessionOwners

MADE = iter(range(1_000))


async def opens(scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that opens a session for every request without one."""
    headers = [] if any(name == b"mcp-session-id" for name, _ in scope["headers"]) else [(b"mcp-session-id", b"%d" % next(MADE))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class Asked:
    def __init__(self, most: int = 2) -> None:
        self.now, self.status = 0.0, 200
        self.owners = SessionOwners(self.answer, most=most, clock=lambda: self.now)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def changed(message: Message) -> None:
            await send({**message, "status": self.status} if "status" in message else message)

        await opens(scope, receive, changed)

    def ask(
        self, tenant: str, session: str | None = None, *, method: str = "POST", revision: str | None = None
    ) -> tuple[int, str]:
        """The status, and the session it was answered with."""
        named = {"mcp-session-id": session, "mcp-protocol-version": revision}
        headers = [(name.encode(), value.encode()) for name, value in named.items() if value is not None]
        scope: dict[str, Any] = {
            "type": "http", "method": method, "headers": headers, IDENTITY: Identity(tenant=tenant, caller=f"x@{tenant}"),
        }  # fmt: skip
        heard: list[Message] = []

        async def send(message: Message) -> None:
            heard.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        asyncio.run(self.owners(scope, receive, send))
        return heard[0]["status"], dict(heard[0]["headers"]).get(b"mcp-session-id", b"").decode()


def test_one_tenant_has_so_many_and_others_have_theirs() -> None:
    asked = Asked()
    assert [asked.ask("a")[0] for _ in range(3)] == [200, 200, 429]
    assert asked.ask("b")[0] == 200


def test_one_that_is_ended_or_idle_makes_room() -> None:
    asked = Asked()
    first, second = asked.ask("a")[1], asked.ask("a")[1]
    assert asked.ask("a")[0] == 429
    asked.ask("a", first, method="DELETE")
    assert asked.ask("a")[0] == 200
    asked.now = IDLE_SECONDS - 1
    asked.ask("a", second)
    asked.now = IDLE_SECONDS + 1
    assert [asked.ask("a")[0] for _ in range(2)] == [200, 429]


def test_a_stranger_ends_nothing() -> None:
    asked = Asked(most=1)
    session = asked.ask("a")[1]
    asked.ask("b", session, method="DELETE")
    assert asked.ask("a")[0] == 429


def test_requests_that_open_no_session_are_not_counted() -> None:
    asked = Asked(most=1)
    asked.ask("a")
    assert asked.ask("a", revision="2026-07-28")[0] == 200
    assert asked.ask("a", revision="2025-11-25")[0] == 429


def test_many_at_once_are_no_more_than_one_after_another() -> None:
    held, answers = asyncio.Event(), list[int]()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await opens(scope, receive, send)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    async def all_at_once() -> None:
        owners = SessionOwners(slow, most=2)
        scope: dict[str, Any] = {"type": "http", "method": "POST", "headers": []}
        asking = [asyncio.create_task(owners(scope, receive, send)) for _ in range(5)]
        await asyncio.sleep(0)
        held.set()
        await asyncio.gather(*asking)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    asyncio.run(all_at_once())
    assert sorted(answers) == [200, 200, 429, 429, 429]


def test_one_that_was_not_opened_leaves_its_place() -> None:
    asked = Asked(most=1)
    asked.status = 400
    assert [asked.ask("a")[0] for _ in range(2)] == [400, 400]
    asked.status = 200
    assert [asked.ask("a")[0] for _ in range(2)] == [200, 429]


def test_an_end_that_is_refused_makes_no_room_nor_does_it_keep_one() -> None:
    asked = Asked(most=1)
    _, session = asked.ask("a")
    asked.status = 404
    asked.now = IDLE_SECONDS / 2
    asked.ask("a", session, method="DELETE")
    asked.status = 200
    assert asked.ask("a")[0] == 429
    asked.now = IDLE_SECONDS + 1
    assert asked.ask("a")[0] == 200
