"""What the pages ask the public API for, beyond what other clients did: who I am, what runs now, what one execution did."""

import asyncio
import json
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest
from fastapi import FastAPI

from gristmill.serve.http import router
from gristmill.testing import fake_runtime
from tests.e2e.http.conftest import Service, local_config
from tests.e2e.http.test_mcp import call

WAITS = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n'gone'"


def told(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    """What a stream tells, event by event."""
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("ann", {"name": "ann", "tenant": "acme", "caller": "ann@acme", "scopes": ["execute"], "is_operator": False}),
        ("boss", {"name": "bob", "tenant": "acme", "caller": "bob@acme", "scopes": ["approve"], "is_operator": False}),
        ("operator", {"name": "ops", "tenant": "local", "caller": "ops", "scopes": ["read", "admin"], "is_operator": True}),
        (None, {"name": "local", "tenant": "local", "scopes": ["execute", "read", "admin"], "is_operator": True}),
    ],
)
def test_everybody_can_ask_who_he_is(service: Service, who: str | None, expected: dict[str, Any]) -> None:
    with service.client(who) as client:
        found = client.get("/whoami").json()
    assert {name: found[name] for name in expected} == expected


def test_an_ended_execution_is_shown_with_its_outcome_its_code_and_every_call(service: Service) -> None:
    code = "# look\nimport os\n\nfrom servers.crm import find\nfind('x')\nprint('out')\n'end'"
    with service.client("ann") as client:
        outcome = client.post("/execute", json={"code": code}).json()
        shown = client.get(f"/executions/{outcome['id']}").json()
        listed = client.get("/executions", params={"limit": 5}).json()["executions"]
    assert (shown["outcome"], shown["code"], shown["status"]) == (outcome, code, "ok")
    assert [(one["tool"], one["status"], one["arguments"]) for one in shown["calls"]] == [("crm.find", "ok", {"q": "x"})]
    assert shown["calls"][0]["time"] >= shown["time"]
    assert next(one["about"] for one in listed if one["id"] == outcome["id"]) == "from servers.crm import find"


def test_code_that_runs_is_shown_to_its_own_caller_only(service: Service) -> None:
    with service.client("ann") as ann, service.client("reader") as reader:
        ann.post("/sessions", json={"name": "shown"})
        id_ = ann.post("/execute", json={"code": WAITS, "session": "shown", "background": True}).json()["id"]
        own, other = (client.get(f"/executions/{id_}").json() for client in (ann, reader))
        ann.put("/sessions/shown/files/go", content=b"")
        list(told(ann.get(f"/executions/{id_}/events")))
        ended = reader.get(f"/executions/{id_}").json()
    assert (own["status"], own["code"]) == ("running", WAITS)
    assert (other["status"], other.get("code")) == ("running", None)
    assert ended["code"] == WAITS  # from the record, with masks


def test_events_say_what_runs_whenever_it_changes_and_only_to_those_who_may_see_it(service: Service) -> None:
    with service.client("ann") as ann, service.client("reader") as reader, service.client("eve") as eve:
        ann.post("/sessions", json={"name": "events"})
        with reader.stream("GET", "/events") as stream:
            heard = told(stream)
            before = {one["id"] for one in next(heard)["running"]}
            id_ = ann.post("/execute", json={"code": WAITS, "session": "events", "background": True}).json()["id"]
            began = next(event for event in heard if {one["id"] for one in event["running"]} - before)
            with eve.stream("GET", "/events") as foreign:
                assert next(told(foreign))["running"] == []
            printed = (one["line"] for event in chain([began], heard) for one in event["running"] if one["id"] == id_)
            assert next(line for line in printed if line) == "begun"
            ann.put("/sessions/events/files/go", content=b"")
            ended = next(event for event in heard if id_ not in {one["id"] for one in event["running"]})
    row = next(one for one in began["running"] if one["id"] == id_)
    assert (row["session"], row["caller"]) == ("events", "ann@acme")
    assert ended["last_ended"] > row["time"]


def test_what_an_agent_runs_over_mcp_is_seen_and_followed(service: Service) -> None:
    with service.client("ann_both") as ann, service.client("reader") as reader:
        with reader.stream("GET", "/events") as stream:
            heard = told(stream)
            before = {one["id"] for one in next(heard)["running"]}
            asked = {"code": WAITS, "session": "new"}
            agent = threading.Thread(target=lambda: call(service, "ann", "execute_code", asked), daemon=True)
            agent.start()
            began = next(event for event in heard if {one["id"] for one in event["running"]} - before)
        row = next(one for one in began["running"] if one["id"] not in before)
        with ann.stream("GET", f"/executions/{row['id']}/events") as stream:
            heard = told(stream)
            assert next(heard)["text"] == "begun\n"
            ann.put(f"/sessions/{row['session']}/files/go", content=b"")
            assert [event["type"] for event in heard] == ["outcome"]
        agent.join(timeout=30)
        assert reader.get(f"/executions/{row['id']}").json()["outcome"]["result"] == "gone"


def test_what_an_agent_runs_over_mcp_can_be_cancelled(service: Service) -> None:
    answers: list[str] = []
    with service.client("ann") as ann:
        with ann.stream("GET", "/events") as stream:
            heard = told(stream)
            before = {one["id"] for one in next(heard)["running"]}
            asked = {"code": "while True: pass"}
            agent = threading.Thread(target=lambda: answers.append(_tried(service, asked)), daemon=True)
            agent.start()
            began = next(event for event in heard if {one["id"] for one in event["running"]} - before)
            id_ = next(one["id"] for one in began["running"] if one["id"] not in before)
            assert ann.delete(f"/executions/{id_}").status_code == 204
            assert next(event for event in heard if id_ not in {one["id"] for one in event["running"]})
        agent.join(timeout=30)
        assert ann.get(f"/executions/{id_}").json()["status"] == "cancelled"
    assert len(answers) == 1  # the agent was answered, whatever the answer


def _tried(service: Service, asked: dict[str, Any]) -> str:
    try:
        return call(service, "ann", "execute_code", asked)
    except Exception as error:
        return repr(error)


def test_two_versions_of_a_skill_are_compared(service: Service) -> None:
    code = "from skills import save\ndef triple(n: int) -> int:\n    'Thrice.'\n    return n * {0}\nsave(triple, level='user')"
    with service.client("ann") as client:
        for factor in (2, 3):
            client.post("/execute", json={"code": code.format(factor)})
        found = client.get("/skills/triple/diff", params={"old": 1, "new": 2}).json()
        missing = client.get("/skills/triple/diff", params={"old": 1, "new": 9})
        client.delete("/skills/triple")
    assert "-    return n * 2\n+    return n * 3" in found["diff"]
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found.skill")


def test_tools_tell_what_their_definitions_cost(service: Service) -> None:
    with service.client("ann") as client:
        server = next(row for row in client.get("/tools").json() if row["name"] == "crm")
        tools = client.get("/tools/crm").json()
        one = client.get("/tools/crm/find").json()
    assert {tool["name"]: tool["tokens"] > 0 for tool in tools} == {"find": True, "send": True}
    assert sum(tool["tokens"] for tool in tools) == server["tokens"]
    assert one["tokens"] == next(tool["tokens"] for tool in tools if tool["name"] == "find")


def test_what_a_session_cost_in_tokens_is_told_apart_from_the_rest(service: Service) -> None:
    with service.client("ann") as ann, service.client("reader") as reader:
        ann.post("/execute", json={"code": "from servers.crm import find\nfind('x')", "session": "priced"})
        whole, one, none = (
            reader.get("/stats", params=which).json()["tokens"] for which in ({}, {"session": "priced"}, {"session": "no"})
        )
    assert (one["executions"], one["calls"], none["executions"]) == (1, 1, 0)
    assert whole["executions"] >= 1
    assert one["savings"]["ways"]["direct"]["resent"] > 0


def test_what_one_execution_cost_in_tokens_is_told_to_its_own_tenant(service: Service) -> None:
    with service.client("ann") as ann, service.client("reader") as reader:
        ann.post("/execute", json={"code": "1"})
        reader.get("/stats")  # once it has counted anything, an answer tells at once what it saved
        made = ann.post("/execute", json={"code": "from servers.crm import find\nfind('x')"}).json()
        account = reader.get("/stats", params={"execution": made["id"]}).json()["tokens"]
        missing = reader.get("/stats", params={"execution": "nothing-of-that-name"})
    assert (account["executions"], account["calls"]) == (1, 1)
    assert account["savings"]["against_direct"]["once"] == account["tokens_saved"] == made["tokens_saved"]
    assert missing.status_code == 404


def test_a_tool_is_found_whatever_its_name_holds(tmp_path: Path) -> None:
    name = "<b>list</b>/all"

    async def run() -> dict[str, Any]:
        config = local_config(tmp_path)
        async with fake_runtime(config, tools={f"crm.{name}": lambda: None}, serving=True) as runtime:
            app = FastAPI()
            app.include_router(router(runtime))
            transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return (await client.get(f"/tools/crm/{quote(name, safe='')}")).json()

    assert asyncio.run(run())["name"] == name


def test_events_of_a_run_say_when_they_were(service: Service) -> None:
    with service.client("ann") as client:
        outcome = client.post("/execute", json={"code": "from servers.crm import find\nfind('x')"}).json()
        heard = list(told(client.get(f"/executions/{outcome['id']}/events")))
        began = client.get(f"/executions/{outcome['id']}").json()["time"]
    times = [event["at"] for event in heard if event["type"].startswith("call")]
    assert len(times) == 2
    assert began <= times[0] <= times[1]


def test_the_service_shows_its_pages_and_says_where(service: Service) -> None:
    with service.client() as client:
        page = client.get("/dashboard", follow_redirects=True)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    began = next(line for line in map(json.loads, service.lines) if line["event"] == "listening")
    assert began["dashboard"] == f"{service.url}/dashboard"
