"""The client, both faces, against the real service."""

import asyncio
from collections.abc import Callable

import httpx2 as httpx
import pytest

from gristmill.errors import Busy, Conflict, Error, NotFound, Refused, Unauthorized, UnknownSession, UpstreamUnavailable
from gristmill.http_client import AsyncClient, Client
from tests.e2e.http.conftest import Service

OK = (
    b'{"id":"1","status":"ok","success":true,"output":"","result":42,"error":null,"error_type":null,"limit":null,'
    b'"execution_time_ms":1.0,"memory_mb":1.0,"tools_called":[],"isolation":"namespaces","truncated":false,"state":"fresh"}'
)


def test_the_client_gives_the_values_that_the_library_gives(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        outcome = client.execute("from servers.crm import find\nfind('z')['q']", context={"a": 1})
        found = client.search("find customers", limit=1)
        client.execute("open('made.txt', 'w').write('by code')", session="client")
        client.upload("client", "folder/up é.txt", b"by client")
        assert client.download("client", "made.txt") == b"by code"
        assert client.download("client", "folder/up é.txt") == b"by client"
        assert client.get("/sessions")[0]["name"] == "client"
    assert (outcome.success, outcome.result, outcome.tools_called) == (True, "z", ("crm.find",))
    assert found["hits"][0]["tool"] == "crm.find"


def test_the_client_streams_to_the_outcome(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        events = list(client.stream("print('hello')\n6 * 7"))
        outcome = client.wait(client.start("7 * 7"))
    assert [event["type"] for event in events] == ["output", "outcome"]
    assert (events[0]["text"], events[1]["outcome"]["result"], outcome.result) == ("hello\n", 42, 49)


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\r", "\U0001f600"])
def test_any_character_may_stand_in_what_is_streamed(service: Service, char: str) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        events = list(client.stream(f"print({f'a{char}b'!r})\n{f'c{char}d'!r}"))
    assert events[-1]["outcome"]["result"] == f"c{char}d"
    assert "".join(event["text"] for event in events[:-1]).startswith("a")


@pytest.mark.parametrize("path", ["../../../audit", "a/../../b", "./x", "a//b", ".."])
def test_a_path_never_leads_out_of_the_files(service: Service, path: str) -> None:
    with Client(service.url, token=service.tokens["reader"]) as client:
        with pytest.raises(Refused, match="is not a name"):
            client.download("q", path)
        with pytest.raises(Refused, match="is not a name"):
            client.upload("..", path, b"")


def test_a_session_is_the_same_by_its_name_and_by_its_id(service: Service) -> None:
    name = "5f0c0e0e-8c2a-4d63-9b0e-3d5a2d0c9a11"  # of the form of an id, and none
    with Client(service.url, token=service.tokens["ann"]) as client:
        for session in ("by either", name):
            client.execute("x = 6", session=session)
            id_ = client.get(f"/sessions/{session}")["id"]
            assert client.execute("x * 7", session=id_).result == 42
            client.upload(id_, "a.txt", b"kept")
            assert client.execute("open('a.txt').read()", session=session).result == "kept"
        assert [one["name"] for one in client.get("/sessions")].count(id_) == 0


def test_a_name_that_no_address_can_hold_is_refused(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        assert "has no '/'" in str(client.execute("1", session="a/b").error)


def test_the_client_raises_what_the_library_raises(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        with pytest.raises(UnknownSession):
            client.get("/sessions/nobody")
        with pytest.raises(Refused) as refused:
            client.decide("x", "all")
    with Client(service.url, token="gm_x_y") as client, pytest.raises(Unauthorized):
        client.execute("1")
    assert refused.value.rule == "scope"


def test_plans_are_approved_through_the_client(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as ann, Client(service.url, token=service.tokens["boss"]) as boss:
        asked = ann.execute("from servers.crm import send\nsend('fritz')")
        assert asked.plan is not None
        assert asked.plan.id in [one["id"] for one in boss.approvals()]
        boss.decide(asked.plan.id, [call.number for call in asked.plan.calls])
        assert ann.execute(resume=asked.id).result == {"sent": "fritz", "times": 1}


def ask(answer: Callable[[httpx.Request], httpx.Response], retries: int = 4) -> object:
    async def run() -> object:
        async with AsyncClient("http://mill", retries=retries, transport=httpx.MockTransport(answer)) as client:
            return (await client.execute("42")).result

    return asyncio.run(run())


def test_a_lost_answer_is_asked_for_again_with_the_same_key() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("gone")
        if len(keys) == 2:
            return httpx.Response(503, json={"code": "sandbox.unavailable", "message": "soon"})
        return httpx.Response(200, content=OK)

    assert ask(answer) == 42
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_the_client_gives_up_in_the_end_and_says_why() -> None:
    busy = httpx.Response(429, json={"code": "limit.busy", "message": "full", "limit": "serve.waiting"})
    with pytest.raises(Busy):
        ask(lambda _: busy, retries=1)

    def gone(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody")

    with pytest.raises(UpstreamUnavailable):
        ask(gone, retries=1)


def test_a_proxy_may_say_when_in_its_own_way() -> None:
    answers = iter(
        [
            httpx.Response(503, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
            httpx.Response(502, headers={"Retry-After": "-1"}),
            httpx.Response(200, content=OK),
        ]
    )
    assert ask(lambda _: next(answers)) == 42


def test_an_outcome_is_waited_for_beyond_the_end_of_its_events() -> None:
    kept = {"/executions/1": b'{"id":"1","status":"ok","outcome":%s}' % OK, "/executions/2": b'{"id":"2","status":"interrupted"}'}

    def answer(request: httpx.Request) -> httpx.Response:
        gone = httpx.Response(404, json={"code": "not_found", "message": "not under way or kept here"})
        return httpx.Response(200, content=kept[request.url.path]) if request.url.path in kept else gone

    async def wait(id_: str) -> object:
        async with AsyncClient("http://mill", transport=httpx.MockTransport(answer)) as client:
            return (await client.wait(id_)).result

    assert asyncio.run(wait("1")) == 42
    for lost in ("2", "3"):
        with pytest.raises(NotFound):
            asyncio.run(wait(lost))


def test_a_stream_that_cannot_be_had_now_is_asked_for_again() -> None:
    busy = httpx.Response(429, json={"code": "limit.busy", "message": "full", "limit": "streams"})
    told = httpx.Response(200, content=b'id: 1\nevent: outcome\ndata: {"type":"outcome","outcome":%s}\n\n' % OK)
    answers = iter([httpx.Response(502), busy, told])

    async def wait(answer: Callable[[httpx.Request], httpx.Response]) -> object:
        async with AsyncClient("http://mill", retries=2, transport=httpx.MockTransport(answer)) as client:
            return (await client.wait("1")).result

    assert asyncio.run(wait(lambda _: next(answers))) == 42
    with pytest.raises(Busy):
        asyncio.run(wait(lambda _: httpx.Response(429, json={"code": "limit.busy", "message": "full"})))


def test_what_an_execution_wrote_is_undone_by_an_execution_of_its_own(service: Service) -> None:
    ann, boss = Client(service.url, token=service.tokens["ann"]), Client(service.url, token=service.tokens["boss"])
    with ann, boss:
        waiting = ann.execute("from servers import crm\ncrm.send(to='undone')\n1 / 0")
        assert waiting.plan is not None
        with pytest.raises(Conflict, match="nothing that execution"):
            ann.revert(waiting.id)
        boss.decide(waiting.plan.id, "all")
        failed = ann.execute(resume=waiting.id)
        assert [(write.tool, write.made, write.undo) for write in failed.writes] == [("crm.send", 1, "crm.send(to=result.sent)")]
        undoing = ann.revert(failed.id)
        assert undoing.plan is not None
        assert [call.arguments for call in undoing.plan.calls] == [{"to": "undone"}]
        with Client(service.url, token=service.tokens["ann_evil"]) as other, pytest.raises(NotFound):
            other.revert(failed.id)
        with pytest.raises(Refused):
            boss.revert(failed.id)
        boss.decide(undoing.plan.id, "all")
        assert ann.execute(resume=undoing.id).result["times"] == 2


def test_lists_show_the_title_of_an_execution_with_masks(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as ann, Client(service.url, token=service.tokens["reader"]) as reader:
        plain = ann.execute("from servers.crm import find\nfind('z')")
        titled = ann.execute("from servers.crm import find\nfind('z')", title="Letters\nto ann@example.org")
        found = {one["id"]: one["title"] for one in reader.get("/executions")["executions"]}
        assert found[plain.id] == "crm.find"
        assert found[titled.id].startswith("Letters to <EMAIL_")
        with pytest.raises(Error, match="title"):
            ann.execute("1", title="x" * 201)
