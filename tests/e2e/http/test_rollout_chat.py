"""The chat of a service with a rollout: turns have the mode of their user's arm, and what came of them is kept."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer
from tests.e2e.http.conftest import SETTINGS, Service, start

CHAT = """
[chat]
model = "openai:scripted"
base_url = "{url}"
direct = ["crm.find"]
[rollout]
name = "chat-modes"
[rollout.arms.direct]
mode = "direct"
[rollout.arms.code]
mode = "code"
model = "openai:other"
prompt = "Speak as the new arm."
[rollout.users]
"bob@acme" = "direct"
[[rollout.stages]]
percent = 100
"""


def choose_answer(request: ModelRequest) -> ModelAnswer | ModelFailure:
    """Writes a program if it may, fails if it is asked to."""
    if "fail" in request.last_text:
        return ModelFailure(400, "no")
    if request.tool_results or "execute_code" not in request.tools:
        told = " as the new arm" if "Speak as the new arm." in request.system else ""
        return ModelAnswer(f"Done with {request.model}{told}.", input_tokens=70, output_tokens=7)
    return ModelAnswer("I look.", [ModelCall("execute_code", {"code": "6 * 7"})], input_tokens=30, output_tokens=3)


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Generator[Service]:
    folder = tmp_path_factory.mktemp("chat")
    folder.chmod(0o755)
    with ModelServer(choose_answer) as model, start(folder, SETTINGS + CHAT.format(url=model.openai_url)) as running:
        yield running


def say(service: Service, message: str, **asked: Any) -> dict[str, Any]:
    with service.client("ann") as client:
        answer = client.post("/chat", json={"message": message, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_turns_have_the_arm_of_their_user_until_it_is_rolled_back(talking: Service) -> None:
    before = say(talking, "look")
    assert (before["mode"], before["text"]) == ("direct", "Done with scripted.")
    with talking.client("operator") as ops, talking.client("ann") as ann:
        assert ops.post("/rollout/steps", json={"step": "start"}).status_code == 200
        for _ in range(200):  # half a second at most
            if ann.get("/rollout/arm").json()["arm"] == "code":
                break
        first = say(talking, "look")
        assert (first["mode"], first["text"], len(first["programs"])) == ("code", "Done with other as the new arm.", 1)
        failed = say(talking, "fail now")
        assert (failed["mode"], failed["status"]) == ("code", "failed")
        # What a caller asks for comes first, and is not compared.
        assert say(talking, "look", mode="direct")["mode"] == "direct"
        assert ann.post("/feedback", json={"id": first["conversation"], "complaint": True, "comment": "no"}).status_code == 204
        report = ops.get("/rollout/report").json()
        (_, code) = report["arms"]
        assert (code["conversations"], code["statuses"]["ok"], sum(code["statuses"].values())) == (2, 1, 2)

        assert ops.post("/rollout/steps", json={"step": "rollback", "reason": "try"}).status_code == 200
        for _ in range(200):
            if ann.get("/rollout/arm").json()["arm"] == "direct":
                break
        assert say(talking, "look")["mode"] == "direct"  # the next conversation
        again = say(talking, "look", conversation=first["conversation"])
        # One that has begun keeps its mode, its model and its prompt.
        assert (again["mode"], again["turn"], again["text"]) == ("code", 2, "Done with other as the new arm.")
