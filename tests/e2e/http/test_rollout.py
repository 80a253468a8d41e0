"""A rollout over two replicas of one store: arms of executions over HTTP and MCP, feedback, steps, and a rollback by itself."""

import re
from collections.abc import Generator
from typing import Any

import pytest

from gristmill.errors import NotFound
from gristmill.http_client import Client
from tests.e2e.http.conftest import SETTINGS, Service, Start, start
from tests.e2e.http.test_mcp import call

ROLLOUT = """
[rollout]
name = "code-mode"
[rollout.arms.direct]
mode = "direct"
[rollout.arms.code]
mode = "code"
model = "small"
[[rollout.stages]]
percent = 50
for = "1h"
[[rollout.stages]]
percent = 100
[[rollout.guardrails]]
when = "error_rate > 1 %"
window = "1h"
minimum = 10
[[rollout.guardrails]]
when = "complaints > 2"
window = "1h"
then = "hold"
"""
MOST_TRIES = 4_000
"""Guardrails look once a second; a request takes about two milliseconds."""


@pytest.fixture(scope="module")
def replicas(new_state: Any) -> Generator[tuple[Service, Service]]:
    state = new_state()
    with start(state, SETTINGS + ROLLOUT) as one, start(state, SETTINGS + ROLLOUT, one.tokens) as other:
        yield one, other


def step(service: Service, name: str, **asked: Any) -> dict[str, Any]:
    with service.client("operator") as client:
        answer = client.post("/rollout/steps", json={"step": name, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def find_users(service: Service, arm: str, count: int) -> list[str]:
    found: list[str] = []
    with service.client("ann") as client:
        for user in (f"user{number}" for number in range(40)):
            if len(found) < count and client.get("/rollout/arm", params={"user": user}).json()["arm"] == arm:
                found.append(user)
    return found


def test_a_rollout_from_start_to_rollback(replicas: tuple[Service, Service]) -> None:
    one, other = replicas
    with one.client("ann") as ann, other.client("ann") as ann_there, one.client("operator") as ops:
        before = ann.get("/rollout/arm").json()
        assert (before["arm"], before["reason"], before["mode"]) == ("direct", "off", "direct")
        assert step(one, "start", reason="go")["percent"] == 50
        assert step(other, "hold")["standing"] == "held"
        assert ops.post("/rollout/steps", json={"step": "start", "version": 1}).status_code == 409  # another step came first
        assert step(one, "start", version=2)["standing"] == "running"
        # Both replicas give a user the same arm, and the two arms share the users.
        assert len(find_users(one, "code", 40)) > 8
        users = find_users(other, "code", 5)
        arms = [ann.get("/rollout/arm", params={"user": user}).json() for user in users]
        assert {(arm["arm"], arm["model"], arm["reason"]) for arm in arms} == {("code", "small", "assigned")}

        # An execution carries the arm of its caller, over HTTP and over MCP.
        mine = ann.get("/rollout/arm").json()["arm"]
        outcome = ann.post("/execute", json={"code": "6 * 7"}).json()
        assert "42" in call(one, "ann", "execute_code", {"code": "6 * 7"})
        with one.client("reader") as reader:
            records = reader.get("/audit", params={"kind": "execution", "limit": 2}).json()["records"]
        assert [record["details"]["arm"] for record in records] == [mine, mine]
        metrics = ""
        for _ in range(200):  # until the next look at the rollout
            metrics = ops.get("/metrics").text
            if "rollout_percent 50.0" in metrics:
                break
        assert re.search(rf'arm_outcomes_total{{arm="{mine}",outcome="ok"}} 2', metrics)
        assert "rollout_percent 50.0" in metrics
        assert 'rollout_standing{standing="running"} 1.0' in metrics

        # Feedback about it, and nothing about what is not one's own.
        assert ann.post("/feedback", json={"id": outcome["id"], "thumb": "up", "accuracy": 0.9}).status_code == 204
        with one.client("eve") as eve:
            assert eve.post("/feedback", json={"id": outcome["id"], "thumb": "down"}).status_code == 404
        assert ann.post("/feedback", json={"id": outcome["id"], "accuracy": 2}).status_code == 422
        with Client(one.url, token=one.tokens["ann"]) as blocking:
            blocking.send_feedback(outcome["id"], thumb="down", comment="slow")
            with pytest.raises(NotFound):
                blocking.send_feedback("none")

        # A chat of one's own reports what came of its turns, at one replica; the other sees the rollback.
        bad = {"seconds": 0.5, "tokens_in": 900, "status": "failed"}
        seen: dict[str, Any] = {}
        with other.client("operator") as ops_there:
            for number in range(MOST_TRIES):
                made = {**bad, "id": f"t{number}", "conversation": f"c{number}", "user": users[number % len(users)]}
                assert ann.post("/rollout/outcomes", json=made).status_code == 204
                if (seen := ops_there.get("/rollout").json())["standing"] == "rolled_back":
                    break
        assert (seen["standing"], seen["percent"], seen["by"]) == ("rolled_back", 0, "gristmill")
        newest = seen["steps"][0]
        assert newest["reason"] == "error_rate > 1 % in the arm code"
        assert newest["numbers"]["conversations"] >= 10
        report = ops.get("/rollout/report").json()
        assert {arm["arm"] for arm in report["arms"]} == {"direct", "code"}
        for _ in range(MOST_TRIES):  # half a second at most
            if ann_there.get("/rollout/arm", params={"user": users[0]}).json()["arm"] == "direct":
                break
        else:
            pytest.fail("the other replica still gives the new arm")
        assert ops.post("/rollout/steps", json={"step": "advance"}).status_code == 409
        assert step(one, "start")["standing"] == "running"
    complain_until_held(one)


def complain_until_held(one: Service) -> None:
    """Complaints hold the stage of a rollout that runs."""
    users = find_users(one, "code", 1)
    with one.client("ann") as ann, one.client("operator") as ops:
        for number in range(4):
            made = {"id": f"k{number}", "conversation": f"k{number}", "user": users[0], "seconds": 0.1}
            assert ann.post("/rollout/outcomes", json=made).status_code == 204
            assert ann.post("/feedback", json={"id": f"k{number}", "complaint": True, "comment": "wrong"}).status_code == 204
        seen: dict[str, Any] = {}
        for _ in range(MOST_TRIES):
            if (seen := ops.get("/rollout").json())["standing"] == "held":
                break
        assert seen["standing"] == "held"
        assert seen["steps"][0]["reason"] == "complaints > 2 in the arm code"


def test_scopes(replicas: tuple[Service, Service]) -> None:
    one, _ = replicas
    for who in ("ann", "reader", "admin"):
        with one.client(who) as client:
            assert client.get("/rollout").status_code == 403
            assert client.post("/rollout/steps", json={"step": "rollback"}).status_code == 403
            assert client.get("/rollout/report").status_code == 403
    with one.client("reader") as reader:
        assert reader.get("/rollout/arm").status_code == 403
        assert reader.post("/feedback", json={"id": "x"}).status_code == 403
    with one.client() as nobody:
        assert (
            nobody.post("/rollout/steps", json={"step": "rollback"}, headers={"Authorization": "Bearer gm_x_y"}).status_code
            == 401
        )


def test_without_a_rollout_nothing_has_an_arm(service: Service) -> None:
    with service.client("operator") as ops, service.client("ann") as ann:
        for path in ("/rollout", "/rollout/report"):
            assert ops.get(path).status_code == 404
        assert ann.get("/rollout/arm").status_code == 404
        outcome = ann.post("/execute", json={"code": "1"}).json()
        assert ann.post("/feedback", json={"id": outcome["id"], "thumb": "up"}).status_code == 404
    with service.client("reader") as reader:
        (record,) = reader.get("/audit", params={"kind": "execution", "limit": 1}).json()["records"]
    assert "details" not in record


def test_a_rollout_is_stopped_for_good_by_the_kill_switch(starting: Start) -> None:
    with starting(SETTINGS + ROLLOUT.replace('"code-mode"', '"code-mode"\nenabled = false')) as service:
        step(service, "start")
        assert find_users(service, "code", 1) == []
