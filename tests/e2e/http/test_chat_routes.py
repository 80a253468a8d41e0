"""The chat over HTTP: whole and streamed answers, conversations, plans, OpenAI's protocol, and who may do what."""

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from openai import OpenAI, RateLimitError
from websockets.sync.client import connect

from gristmill.errors import Conflict, NotFound, Refused, UpstreamUnavailable
from gristmill.http_client import AsyncClient, Client
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer
from tests.e2e.http.conftest import SETTINGS, Service, start

FIND = "from servers.crm import find\nprint(context.city)\nfind('x')"
GATE = Event()
"""Until it is set, the model pauses in the middle of an answer."""
SEND = "from servers.crm import send\nsend(to='x')"


def choose_answer(request: ModelRequest) -> ModelAnswer | ModelFailure:
    """Answers by the last message of the user, as often as a test asks."""
    if request.tool_results:
        return ModelAnswer("It is done.", input_tokens=50, output_tokens=5, cached_tokens=20)
    said = request.last_text
    if "find" in said:
        return ModelAnswer("I look.", [ModelCall("execute_code", {"code": FIND})])
    if "send" in said:
        return ModelAnswer("I send.", [ModelCall("execute_code", {"code": SEND})])
    if "busy" in said:
        return ModelFailure(429, "slow down", retry_after=900)
    if "wait" in said:
        return ModelAnswer("One two three four.", pause=GATE.wait, pause_at=2)
    return ModelAnswer("Hello there.")


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    with ModelServer(choose_answer) as server:
        yield server


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, state: Path, model: ModelServer) -> Generator[Service]:
    folder = tmp_path_factory.mktemp("chat")
    folder.chmod(0o755)
    chat = f'\n[chat]\nmodel = "openai:scripted"\nbase_url = "{model.openai_url}"\n'
    with start(folder, SETTINGS + chat) as running:
        yield running


def read_events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]


def test_a_message_is_answered_whole_and_its_conversation_is_kept(talking: Service) -> None:
    with talking.client("ann") as client:
        answer = client.post("/chat", json={"message": "find it", "context": {"city": "Bern"}}).json()
        assert (answer["status"], answer["text"], answer["programs"][0]["status"]) == ("answered", "It is done.", "ok")
        assert answer["usage"]["cached_tokens"] == 20
        id_ = answer["conversation"]
        assert client.post("/chat", json={"message": "hello", "conversation": id_}).json()["turn"] == 2
        listed = next(each for each in client.get("/chat/conversations").json() if each["id"] == id_)
        whole = client.get(f"/chat/conversations/{id_}").json()
        assert (listed["turns"], whole["standing"]) == (2, "idle")
        assert [said["kind"] for said in whole["messages"]] == ["user", "model", "result", "model", "user", "model"]
        assert whole["messages"][1]["programs"] == [FIND]
        assert [turn["usage"]["requests"] for turn in whole["turns_taken"]] == [2, 1]
        with talking.client("eve") as other, talking.client("reader") as reader:
            for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/stop"), ("POST", "/undo"), ("POST", "/resume")]:
                body: dict[str, Any] | None = {} if method == "POST" else None
                found = other.request(method, f"/chat/conversations/{id_}{path}", json=body)
                assert found.status_code == 404 or found.json() == {"done": False}, (method, path, found.text)
            assert other.get("/chat/conversations").json() == []
            assert reader.post("/chat", json={"message": "hello"}).status_code == 403
        with talking.client("ann", headers={"Origin": "https://evil.example"}) as page:
            assert page.post(f"/chat/conversations/{id_}/undo").status_code == 403
        as_form = client.post(f"/chat/conversations/{id_}/undo", data={"a": "b"})
        assert (as_form.status_code, as_form.json()["rule"]) == (415, "http.content_type")
        assert client.post(f"/chat/conversations/{id_}/stop").json() == {"done": False}
        assert client.post(f"/chat/conversations/{id_}/resume").status_code == 409
        assert client.post(f"/chat/conversations/{id_}/undo").json() == {"done": True}  # an empty body says it all
        assert client.post(f"/chat/conversations/{id_}/undo", json={}).json() == {"done": True}
        assert client.delete(f"/chat/conversations/{id_}").status_code == 204
        assert client.get(f"/chat/conversations/{id_}").status_code == 404


def test_a_turn_is_streamed_and_a_plan_needs_the_scope_approve(talking: Service) -> None:
    with talking.client("ann") as client:
        events = read_events(client.post("/chat", json={"message": "send it", "stream": True}).text)
        types = [event["type"] for event in events]
        assert types[0] == "turn"
        assert {"text", "code_delta", "usage", "code", "approval"} <= set(types)
        answer = events[-1]["answer"]
        assert (answer["status"], len(answer["approval"]["calls"])) == ("awaiting_approval", 1)
        id_ = answer["conversation"]
        assert client.get(f"/chat/conversations/{id_}").json()["question"]["hash"] == answer["approval"]["hash"]
        assert client.post(f"/chat/conversations/{id_}/decide", json={"approve": "all"}).status_code == 403
        with talking.client("boss") as boss:
            assert boss.post(f"/approvals/{answer['approval']['approval']}", json={"approve": "all"}).status_code == 200
        done = client.post(f"/chat/conversations/{id_}/resume", json={}).json()
        assert (done["status"], done["text"]) == ("answered", "It is done.")
    with talking.client("ann_both") as client:
        answer = client.post("/chat", json={"message": "send it"}).json()
        done = client.post(f"/chat/conversations/{answer['conversation']}/decide", json={"approve": "all"}).json()
        assert (done["status"], done["programs"][0]["status"]) == ("answered", "ok")


def test_any_client_of_openai_uses_the_gateway_as_a_model(talking: Service) -> None:
    with OpenAI(base_url=f"{talking.url}/v1", api_key=talking.tokens["ann"], max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["gristmill", "openai:scripted"]
        said: list[Any] = [
            {"role": "system", "content": "Be short."}, {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "Hello there."}, {"role": "user", "content": "send it"},
        ]  # fmt: skip
        whole = client.chat.completions.create(model="gristmill", messages=said)
        text = whole.choices[0].message.content or ""
        assert "waits for approval" in text
        assert whole.usage is not None
        assert whole.usage.prompt_tokens > 0
        said[-1] = {"role": "user", "content": [{"type": "text", "text": "find it"}]}
        parts = list(
            client.chat.completions.create(model="gristmill", messages=said, stream=True, stream_options={"include_usage": True})
        )
        assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == "I look.It is done."
        assert parts[-1].usage is not None
        assert parts[-1].usage.completion_tokens > 0
        with pytest.raises(RateLimitError, match="busy"):
            client.chat.completions.create(model="gristmill", messages=[{"role": "user", "content": "busy"}])
    with talking.client("ann") as ann:
        assert all(listed["title"] != "hello" for listed in ann.get("/chat/conversations").json())
        refused = ann.post(
            "/v1/chat/completions", json={"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}
        )
        assert refused.status_code == 403
        assert (
            ann.post("/v1/chat/completions", json={"model": "other", "messages": [{"role": "user", "content": "x"}]}).status_code
            == 404
        )


def test_the_websocket_carries_turns_with_their_reference(talking: Service) -> None:
    address = talking.url.replace("http://", "ws://") + "/ws"
    with connect(address, additional_headers={"Authorization": f"Bearer {talking.tokens['ann']}"}) as socket:
        socket.send(json.dumps({"type": "chat", "ref": 7, "message": "find it", "context": {"city": "Bern"}}))
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != "answer":
            events.append(json.loads(socket.recv(30)))
        assert {event["ref"] for event in events} == {7}
        assert events[-1]["answer"]["text"] == "It is done."
        socket.send(json.dumps({"type": "chat", "ref": 8, "message": "  "}))
        assert json.loads(socket.recv(30))["type"] == "problem"


def test_a_service_without_a_model_says_how_to_open_the_chat(service: Service) -> None:
    with service.client("ann") as client:
        found = client.post("/chat", json={"message": "hello"})
        assert (found.status_code, "chat.model" in found.json()["message"]) == (404, True)
        assert client.get("/v1/models").json() == {"object": "list", "data": []}
        assert client.get("/chat/conversations").json() == []


def test_our_clients_speak_with_the_chat(talking: Service) -> None:
    with Client(talking.url, token=talking.tokens["ann_both"], timeout=5) as client:
        events = list(client.chat.stream("find it", context={"city": "Bern"}))
        assert (events[0]["type"], events[-1]["type"], events[-1]["answer"]["text"]) == ("turn", "answer", "It is done.")
        id_ = events[-1]["answer"]["conversation"]
        assert client.chat.send("hello", conversation=id_)["turn"] == 2
        waiting = client.chat.send("send it", conversation=id_)
        assert waiting["status"] == "awaiting_approval"
        assert client.chat.conversation(id_)["question"]["hash"] == waiting["approval"]["hash"]
        assert client.chat.conversations(limit=1)[0]["standing"] == "awaiting_approval"
        assert client.chat.decide(id_, "all")["text"] == "It is done."
        assert not client.chat.stop(id_)
        assert client.chat.undo(id_)
        with pytest.raises(Conflict, match="send a message"):
            client.chat.resume(id_)
        with pytest.raises(NotFound):
            list(client.chat.follow(id_))
        client.chat.delete(id_)
        with pytest.raises(NotFound):
            client.chat.send("hello", conversation=id_)
        with pytest.raises(Refused, match="is not a name"):
            client.chat.delete("..")

    async def talk() -> None:
        async with AsyncClient(talking.url, token=talking.tokens["ann"]) as client:
            waiting = await client.chat.send("send it")
            with pytest.raises(Refused, match="approve"):
                await client.chat.decide(waiting["conversation"], [1])
            await client.chat.delete(waiting["conversation"])
            GATE.clear()
            events = client.chat.stream("wait for me")
            id_ = (await anext(events))["conversation"]
            followed = client.chat.follow(id_)
            assert (await anext(followed))["type"] == "turn"
            assert await client.chat.stop(id_)
            assert [event async for event in events][-1]["answer"]["status"] == "stopped"
            assert [event async for event in followed][-1]["type"] == "answer"
            GATE.set()
            assert (await client.chat.resume(id_))["text"] == "One two three four."

    asyncio.run(talk())
    with Client("http://127.0.0.1:9", retries=0) as client, pytest.raises(UpstreamUnavailable, match="does not answer"):
        client.chat.send("hello")


def test_a_client_that_leaves_stops_its_turn_and_the_request_to_the_model(talking: Service, model: ModelServer) -> None:
    GATE.clear()
    with talking.client("ann") as client:
        with client.stream("POST", "/chat", json={"message": "wait for the client", "stream": True}) as stream:
            lines = (line for line in stream.iter_lines() if line.startswith("data: "))
            first = next(lines)
            assert '"type":"text"' in next(lines)  # the model is in the middle of its answer
        id_ = json.loads(first.removeprefix("data: "))["conversation"]
        whole = client.get(f"/chat/conversations/{id_}").json()
        while whole["standing"] == "running":
            whole = client.get(f"/chat/conversations/{id_}").json()
        GATE.set()
        while not any("for the client" in request.last_text for request in model.abandoned):
            model.wait_for_abandoned(len(model.abandoned) + 1)
        assert (whole["standing"], [turn["status"] for turn in whole["turns_taken"]]) == ("idle", ["stopped"])
