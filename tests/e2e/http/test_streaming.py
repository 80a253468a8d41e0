"""Events as they happen, over server-sent events and over a WebSocket."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
import websockets
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gristmill.events import OutputWritten
from gristmill.model import Identity
from gristmill.runs import kept_events
from gristmill.runs.active_run import ActiveRun
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import TokenRegister
from tests.e2e.http.conftest import Service

TALK = "from servers.crm import find\nprint('one')\nfind('x')\nprint('two')\n'end'"


def events_of(text: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Number, name and content of every event of a stream."""
    found: list[tuple[int, str, dict[str, Any]]] = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))
    return found


def test_events_of_an_ended_execution_are_replayed_in_order_and_end_with_its_outcome(service: Service) -> None:
    with service.client("ann") as client:
        outcome = client.post("/execute", json={"code": TALK}).json()
        stream = client.get(f"/executions/{outcome['id']}/events")
    events = events_of(stream.text)
    names = [name for _, name, _ in events]
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert "".join(told["text"] for _, name, told in events if name == "output") == "one\ntwo\n"
    assert [name for name in names if name != "output"] == ["call_started", "call_finished", "outcome"]
    assert events[-1][2]["outcome"] == outcome
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))


def test_events_of_a_running_execution_come_while_it_runs(service: Service) -> None:
    code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('gone')"
    with service.client("ann") as client:
        client.post("/sessions", json={"name": "live"})
        accepted = client.post("/execute", json={"code": code, "session": "live", "background": True})
        assert accepted.status_code == 202
        id_ = accepted.json()["id"]
        seen = ""
        with client.stream("GET", f"/executions/{id_}/events") as stream:
            for line in stream.iter_lines():
                seen += line + "\n"
                if '"text":"begun' in line:
                    assert client.get(f"/executions/{id_}").json()["status"] == "running"
                    client.put("/sessions/live/files/go", content=b"")
    assert [name for _, name, _ in events_of(seen)] == ["output", "output", "outcome"]


def test_a_stream_is_taken_up_where_it_broke(service: Service) -> None:
    with service.client("ann") as client:
        id_ = client.post("/execute", json={"code": TALK}).json()["id"]
        whole = events_of(client.get(f"/executions/{id_}/events").text)
        rest = events_of(client.get(f"/executions/{id_}/events", headers={"Last-Event-ID": "2"}).text)
    assert rest == whole[2:]


def test_what_a_slow_listener_missed_is_counted_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_events, "EVENTS", 10)

    async def play() -> list[tuple[int, str]]:
        run = ActiveRun(id="x", identity=Identity(tenant="t", caller="c"), session=None, began=0.0)
        for number in range(100):
            run.record_event(OutputWritten(execution="x", text=str(number)))
        run.record_end("outcome", None, 1.0)
        return [(heard.number, heard.name) async for heard in run.events.follow() if heard]

    heard = asyncio.run(play())
    assert heard[0] == (91, "dropped")
    assert [number for number, _ in heard[1:]] == list(range(92, 102))


def test_output_is_masked_while_it_streams(service: Service) -> None:
    with service.client("ann") as client:
        code = "import sys\nsys.stdout.write('mail ann.smith@'); sys.stdout.flush()\nprint('example.com')"
        outcome = client.post("/execute", json={"code": code}).json()
        stream = client.get(f"/executions/{outcome['id']}/events").text
    assert "ann.smith@example.com" not in outcome["output"]
    assert "ann.smith" not in stream


def talk(service: Service, messages: list[Any], *, until: int, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Send ``messages``; what comes back until ``until`` outcomes or problems were seen."""

    async def run() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        url = service.url.replace("http", "ws") + "/ws"
        async with asyncio.timeout(60), websockets.connect(url, additional_headers=headers or {}) as socket:
            for message in messages:
                await socket.send(message if isinstance(message, str) else json.dumps(message))
            while sum(one["type"] in ("outcome", "problem") for one in found) < until:
                found.append(json.loads(await socket.recv()))
        return found

    return asyncio.run(run())


def bearer(service: Service, who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {service.tokens[who]}"}


def test_a_socket_executes_several_programs_and_tells_them_apart(service: Service) -> None:
    asked = [{"type": "execute", "ref": ref, "code": f"print('{ref}')\n'{ref}'"} for ref in ("a", "b")]
    told = talk(service, asked, until=2, headers=bearer(service, "ann"))
    outcomes = {one["ref"]: one["outcome"] for one in told if one["type"] == "outcome"}
    assert {ref: outcome["result"] for ref, outcome in outcomes.items()} == {"a": "a", "b": "b"}
    assert {one["ref"]: one["text"] for one in told if one["type"] == "output"} == {"a": "a\n", "b": "b\n"}


def test_a_socket_is_told_what_is_wrong_and_stays_open(service: Service) -> None:
    asked = [{"type": "execute", "code": 1}, {"type": "dance"}, {"type": "execute", "code": "2", "ref": 7}]
    told = talk(service, asked, until=3, headers=bearer(service, "ann"))
    assert [one["problem"]["code"] for one in told if one["type"] == "problem"] == ["request", "refused"]
    assert told[-1]["outcome"]["result"] == 2


def test_a_socket_cancels_what_it_began(service: Service) -> None:
    async def run() -> dict[str, Any]:
        url = service.url.replace("http", "ws") + "/ws"
        async with asyncio.timeout(60), websockets.connect(url, additional_headers=bearer(service, "ann")) as socket:
            await socket.send(json.dumps({"type": "execute", "code": "while True: pass"}))
            started = json.loads(await socket.recv())
            await socket.send(json.dumps({"type": "cancel", "execution": started["execution"]}))
            return json.loads(await socket.recv())

    assert asyncio.run(run())["problem"]["code"] == "cancelled"


@pytest.mark.requirement("T42")
def test_a_page_says_its_token_first(service: Service) -> None:
    hello = {"type": "hello", "token": service.tokens["ann"]}
    proxied = {"X-Forwarded-For": "10.0.0.1"}  # so that being on this machine does not help
    told = talk(service, [hello, {"type": "execute", "code": "3"}], until=1, headers=proxied)
    assert told[-1]["outcome"]["result"] == 3
    wrong = talk(service, [{"type": "hello", "token": "gm_x_y"}], until=1, headers=proxied)
    assert wrong[-1]["problem"]["code"] == "unauthorized"
    reader = talk(service, [{"type": "hello", "token": service.tokens["reader"]}], until=1, headers=proxied)
    assert reader[-1]["problem"]["rule"] == "scope"


@pytest.mark.requirement("T43")
@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}])
def test_a_socket_of_a_foreign_page_is_never_opened(service: Service, headers: dict[str, str]) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        talk(service, [{"type": "execute", "code": "1"}], until=1, headers=headers)


@pytest.mark.requirement("T42")
def test_a_token_that_is_revoked_opens_nothing_on_a_socket_that_is_open(service: Service) -> None:
    async def run() -> tuple[dict[str, Any], dict[str, Any]]:
        async with open_config_store(service.config) as store:
            tokens = TokenRegister(store)
            token, made = await tokens.create("short", tenant="acme", scopes=("execute",))
            url, headers = service.url.replace("http", "ws") + "/ws", {"Authorization": f"Bearer {token}"}
            async with asyncio.timeout(60), websockets.connect(url, additional_headers=headers) as connection:
                await connection.send(json.dumps({"type": "execute", "code": "1"}))
                while (before := json.loads(await connection.recv()))["type"] != "outcome":
                    pass
                await tokens.revoke(made.id)
                await asyncio.sleep(1.1)  # so long it may be taken for good
                await connection.send(json.dumps({"type": "execute", "code": "2"}))
                return before, json.loads(await connection.recv())

    before, after = asyncio.run(run())
    assert before["outcome"]["result"] == 1
    assert after["problem"]["code"] == "unauthorized"


@pytest.mark.requirement("T42")
def test_a_socket_that_only_listens_ends_with_its_token(service: Service) -> None:
    async def run() -> int | None:
        async with open_config_store(service.config) as store:
            tokens = TokenRegister(store)
            token, made = await tokens.create("listener", tenant="acme", scopes=("execute",))
            url, headers = service.url.replace("http", "ws") + "/ws", {"Authorization": f"Bearer {token}"}
            async with asyncio.timeout(20), websockets.connect(url, additional_headers=headers) as connection:
                talking = "import time\nfor _ in range(100): print('x', flush=True), time.sleep(0.05)"
                await connection.send(json.dumps({"type": "execute", "code": talking}))
                await connection.recv()
                await tokens.revoke(made.id)
                with suppress(websockets.ConnectionClosed):
                    while json.loads(await connection.recv())["type"] != "outcome":
                        pass
                return connection.close_code

    assert asyncio.run(run()) == 1008


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-For": "10.0.0.1"}])
def test_bytes_on_a_socket_are_told_to_be_wrong(service: Service, headers: dict[str, str]) -> None:
    async def run() -> tuple[dict[str, Any], int | None]:
        url = service.url.replace("http", "ws") + "/ws"
        async with asyncio.timeout(60), websockets.connect(url, additional_headers=headers) as connection:
            await connection.send(b"\x00\x01")
            told = json.loads(await connection.recv())
            with pytest.raises(ConnectionClosed):
                await connection.recv()
            return told, connection.close_code

    told, code = asyncio.run(run())
    assert (told["problem"]["rule"], code) == ("ws.text", 1008)


@pytest.mark.requirement("T42")
@pytest.mark.parametrize("path", ["/events", "/executions/{id}/events"])
def test_a_stream_ends_with_the_token_that_opened_it(service: Service, path: str) -> None:
    async def change(id_: str | None = None) -> str:
        async with open_config_store(service.config) as store:
            tokens = TokenRegister(store)
            return (await tokens.revoke(id_)).id if id_ else (await tokens.create("rob", tenant="acme", scopes=("read",)))[0]

    token = asyncio.run(change())
    talking = "import time\nwhile True: print('x', flush=True), time.sleep(0.05)"
    with service.client("ann") as ann, service.client(headers={"Authorization": f"Bearer {token}"}) as rob:
        id_ = ann.post("/execute", json={"code": talking, "background": True}).json()["id"]
        with rob.stream("GET", path.format(id=id_)) as stream:
            lines = stream.iter_lines()
            next(lines)
            asyncio.run(change(token.split("_")[1]))
            for count, _ in enumerate(lines):
                assert count < 300
        assert ann.get(f"/executions/{id_}").json()["status"] == "running"
        ann.delete(f"/executions/{id_}")
