"""What was acknowledged is kept: keys, kill -9 under load, and an orderly end."""

import itertools
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx2 as httpx
import pytest

from gristmill.errors import Conflict
from gristmill.http_client import Client
from tests.e2e.http.conftest import SETTINGS, Service, Start

COUNT = "import os\nn = int(open('n').read()) + 1 if os.path.exists('n') else 1\nopen('n', 'w').write(str(n))\nn"


def test_the_same_key_twice_is_one_execution(service: Service) -> None:
    with service.client("ann", headers={"Idempotency-Key": "k-1"}) as client:
        first = client.post("/execute", json={"code": COUNT, "session": "keys"})
        second = client.post("/execute", json={"code": COUNT, "session": "keys"})
        other = client.post("/execute", json={"code": "2"})
    with service.client("eve", headers={"Idempotency-Key": "k-1"}) as client:
        foreign = client.post("/execute", json={"code": COUNT, "session": "keys"})
    assert (first.json()["result"], second.json()) == (1, first.json())
    assert second.headers["idempotency-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert foreign.json()["id"] != first.json()["id"]


def test_the_same_key_while_it_runs_waits_for_the_same_outcome(service: Service) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        with service.client("ann", headers={"Idempotency-Key": "k-2"}) as client:
            answers.append(client.post("/execute", json={"code": "import time\ntime.sleep(0.3)\n" + COUNT, "session": "both"}))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}
    assert [answer.json()["result"] for answer in answers] == [1] * 4


def test_a_key_holds_over_a_restart(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    with starting(state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            done = client.execute(COUNT, session="once", idempotency_key="k-3")
        service.end(signal.SIGKILL)
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        again = client.execute(COUNT, session="once", idempotency_key="k-3")
        assert replace(again, tokens_saved=None) == replace(done, tokens_saved=None)  # counted after the answer
        with pytest.raises(Conflict, match="another request"):
            client.execute("2", session="once", idempotency_key="k-3")
        assert client.execution(done.id)["status"] == "ok"


@pytest.mark.requirement("T49")
def test_kill_under_load_loses_nothing_that_was_acknowledged(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    acknowledged: list[str] = []
    promised: list[str] = []
    enough = threading.Event()

    def load(service: Service, number: int) -> None:
        with service.client("ann") as client:
            for turn in itertools.count():
                background = number == 0 and turn % 2 == 0
                try:
                    answer = client.post("/execute", json={"code": "1 + 1", "background": background})
                except httpx.TransportError:
                    return
                if answer.status_code in (200, 202):
                    (promised if background else acknowledged).append(answer.json()["id"])
                if len(acknowledged) >= 60:
                    enough.set()

    with starting(state=state) as service:
        tokens = service.tokens
        threads = [threading.Thread(target=load, args=(service, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        service.end(signal.SIGKILL)
        for thread in threads:
            thread.join(30)
    assert promised
    with starting(state=state, tokens=tokens) as service:
        with service.client("ann") as client:
            lost = [one for one in acknowledged if client.get(f"/executions/{one}").json().get("status") != "ok"]
            kept = {one: client.get(f"/executions/{one}").json().get("status") for one in promised}
            interrupted = [one for one, status in kept.items() if status == "interrupted"]
            resumed = [client.post("/execute", json={"resume": one}).json()["result"] for one in interrupted]
        with service.client("operator") as client:
            verified = client.get("/audit/verify").json()
    assert lost == []
    assert set(kept.values()) <= {"ok", "interrupted"}
    assert resumed == [2] * len(interrupted)
    assert verified["ok"]


def test_an_interrupted_background_execution_is_told_and_can_be_resumed(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    with starting(state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            done = client.start("1 + 1")
            while client.execution(done)["status"] != "ok":
                pass
            id_ = client.start("import time\ntime.sleep(0 if context else 20)\n'done'")
        with service.client("ann") as raw:
            assert _statuses(raw, "/executions") == {id_: "running", done: "ok"}
        service.end(signal.SIGKILL)
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        assert client.execution(id_)["status"] == "interrupted"
        with service.client("ann") as raw:
            assert _statuses(raw, "/executions?limit=2") == {id_: "interrupted", done: "ok"}
            assert _statuses(raw, "/executions?status=interrupted") == {id_: "interrupted"}
        with service.client("eve") as raw:
            assert _statuses(raw, "/executions") == {}
        assert client.execute(resume=id_, context={"quick": True}).result == "done"


def _statuses(client: httpx.Client, path: str) -> dict[str, str]:
    rows = client.get(path).json()["executions"]
    found = {row["id"]: row["status"] for row in rows}
    assert len(found) == len(rows)  # each once
    return found


@pytest.mark.requirement("T114")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_orderly_end_lets_what_runs_end_and_takes_nothing_new(starting: Start, number: int) -> None:
    with starting() as service:
        code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n'whole'"
        answers: list[httpx.Response] = []
        with service.client("ann") as client, service.client("ann") as keeper:
            client.post("/sessions", json={"name": "drain"})
            asking = threading.Thread(
                target=lambda: answers.append(client.post("/execute", json={"code": code, "session": "drain"}))
            )
            asking.start()
            while not (running := keeper.get("/executions", params={"status": "running"}).json()["executions"]):
                pass
            assert running[0]["session"] == "drain"
            service.process.send_signal(number)
            while (ready := keeper.get("/ready")).status_code == 200:
                pass
            refused = keeper.post("/execute", json={"code": "1"})
            keeper.put("/sessions/drain/files/go", content=b"").raise_for_status()
            asking.join(30)
        assert service.process.wait(30) == 0
    assert ready.json()["status"] == "draining"
    assert (refused.status_code, refused.json()["code"]) == (429, "limit.busy")
    assert answers[0].json()["result"] == "whole"


def test_what_does_not_end_in_time_is_ended_and_on_record(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    with starting(SETTINGS + "drain_seconds = 0.2\n", state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            id_ = client.start("while True: pass")
        logged = service.end()
        assert service.process.returncode == 0
        assert '"broken_off": 1' in logged
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        assert client.execution(id_)["status"] == "interrupted"


def test_what_was_accepted_waits_for_its_turn_however_long(starting: Start) -> None:
    settings = SETTINGS.replace("concurrency = 4", "concurrency = 1") + "waiting_seconds = 0.2\n"
    with starting(settings) as service, Client(service.url, token=service.tokens["ann"]) as client:
        first = client.start("import time\ntime.sleep(1)\n'first'")
        second = client.start("'second'")
        with service.client("ann") as raw:
            impatient = raw.post("/execute", json={"code": "'third'"})
        assert (client.wait(first).result, client.wait(second).result) == ("first", "second")
    assert (impatient.status_code, impatient.json()["limit"]) == (429, "serve.waiting_seconds")


@pytest.mark.parametrize("background", [True, False])
def test_a_key_whose_execution_was_killed_is_not_executed_again(
    starting: Start, new_state: Callable[[], Path], background: bool
) -> None:
    state, asked = new_state(), {"code": COUNT + "\nimport time\ntime.sleep(0 if n > 1 else 20)", "session": "killed"}
    with starting(state=state) as service:
        tokens = service.tokens
        with service.client("ann") as client:
            client.post("/sessions", json={"name": "killed"})
        ask = threading.Thread(target=_post, args=(service, {**asked, "background": background}))
        ask.start()
        with service.client("ann") as client:
            while client.get("/sessions/killed/files/n").status_code != 200:
                pass
        service.end(signal.SIGKILL)
        ask.join(30)
    with starting(state=state, tokens=tokens) as service:
        again = _post(service, {**asked, "background": background})
        with service.client("ann") as client:
            assert client.get("/sessions/killed/files/n").content == b"1"
    assert again is not None
    assert (again.status_code, again.json()["code"]) == (409, "conflict.interrupted")
    assert "resume" in again.json()["message"]


def _post(service: Service, asked: dict[str, object]) -> httpx.Response | None:
    with service.client("ann", headers={"Idempotency-Key": "k-killed"}) as client:
        try:
            return client.post("/execute", json=asked)
        except httpx.TransportError:
            return None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_outcome_of_a_background_execution_is_there_after_a_restart(
    starting: Start, new_state: Callable[[], Path], number: int
) -> None:
    state = new_state()
    with starting(state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            id_ = client.start("print('said')\n{'a': [1, 2]}", idempotency_key="k-kept")
            whole = client.wait(id_)
        service.end(number)
    with starting(state=state, tokens=tokens) as service, service.client("ann") as client, service.client("eve") as eve:
        kept = client.get(f"/executions/{id_}").json()
        assert eve.get(f"/executions/{id_}").status_code == 404
        again = client.post("/execute", json={"code": "1", "background": True}, headers={"Idempotency-Key": "k-kept"})
    assert (kept["status"], kept["outcome"]["result"], kept["outcome"]["output"]) == ("ok", whole.result, whole.output)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_a_resumed_execution_has_the_context_of_the_first(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    with starting(state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client:
            code = "import os, time\ntime.sleep(0 if os.path.exists('again') else 20)\ncontext.user_id"
            id_ = client.start(code, session="whose", context={"user_id": 7})
        service.end(signal.SIGKILL)
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        client.upload("whose", "again", b"")
        assert client.execute(resume=id_).result == 7


def test_a_foreign_execution_cannot_be_told_from_none(service: Service) -> None:
    with service.client("ann", headers={"Idempotency-Key": "guessable"}) as client:
        id_ = client.post("/execute", json={"code": "1 / 0"}).json()["id"]
    with service.client("eve") as client:
        answers = [client.post("/execute", json={"resume": name}) for name in (id_, "0" * 32)]
    assert [(answer.status_code, answer.json()["message"].replace(id_, "0" * 32)) for answer in answers] == [
        (404, answers[1].json()["message"])
    ] * 2


def test_whoever_waits_for_an_execution_that_is_cancelled_is_told_so(service: Service) -> None:
    answers: list[httpx.Response] = []
    with service.client("ann", headers={"Idempotency-Key": "k-cancelled"}) as client, service.client("ann") as other:
        ask = threading.Thread(
            target=lambda: answers.append(
                client.post("/execute", json={"code": "print('begun', flush=True)\nimport time\ntime.sleep(30)"})
            )
        )
        ask.start()
        while not (running := other.get("/executions?status=running").json()["executions"]):
            pass
        with other.stream("GET", f"/executions/{running[0]['id']}/events") as stream:
            assert next(line for line in stream.iter_lines() if line.startswith("data")).endswith('"begun\\n"}')
        assert other.delete(f"/executions/{running[0]['id']}").status_code == 204
        ask.join(30)
        record = other.get(f"/executions/{running[0]['id']}").json()
    assert (answers[0].status_code, answers[0].json()["code"]) == (409, "cancelled")
    assert answers[0].headers["content-type"] == "application/problem+json"
    assert record["status"] == "cancelled"


def test_an_accepted_execution_that_is_cancelled_before_its_turn_is_on_record_as_such(starting: Start) -> None:
    settings = SETTINGS.replace("concurrency = 4", "concurrency = 1")
    with starting(settings) as service, Client(service.url, token=service.tokens["ann"]) as client:
        client.start("import time\ntime.sleep(20)")
        waiting = client.start("'never'")
        client.cancel(waiting)
        while client.execution(waiting)["status"] == "running":
            pass
        with service.client("ann") as raw:
            assert _statuses(raw, "/executions?status=cancelled") == {waiting: "cancelled"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_the_end_of_the_service_breaks_off_is_interrupted_and_can_be_resumed(
    starting: Start, new_state: Callable[[], Path], number: int
) -> None:
    state, settings = new_state(), SETTINGS + "drain_seconds = 0.1\n"
    code = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\n'whole'"
    answers: list[httpx.Response] = []
    with starting(settings, state=state) as service:
        tokens = service.tokens
        with Client(service.url, token=tokens["ann"]) as client, service.client("ann") as raw:
            id_ = client.start(code, session="drained")
            asked = {"code": "import time\ntime.sleep(20)"}
            ask = threading.Thread(target=lambda: answers.append(raw.post("/execute", json=asked)))
            ask.start()
            while len(client.get("/executions", status="running")["executions"]) < 2:
                pass
            while "begun" not in str(client.get("/sessions/drained/files")):
                pass
            service.end(number)
            ask.join(30)
    assert (answers[0].status_code, answers[0].json()["code"]) == (409, "cancelled")
    with starting(state=state, tokens=tokens) as service, Client(service.url, token=tokens["ann"]) as client:
        assert client.execution(id_)["status"] == "interrupted"
        assert id_ in [row["id"] for row in client.get("/executions", status="interrupted")["executions"]]
        client.upload("drained", "go", b"")
        assert client.execute(resume=id_).result == "whole"


def test_two_services_over_one_store_tell_what_the_other_runs(starting: Start, new_state: Callable[[], Path]) -> None:
    state = new_state()
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n'whole'"
    with ExitStack() as stack:
        first = stack.enter_context(starting(state=state))
        second = stack.enter_context(starting(state=state, tokens=first.tokens))
        here, there = (stack.enter_context(Client(one.url, token=first.tokens["ann"])) for one in (first, second))
        id_ = here.start(code, session="shared")
        assert there.execution(id_)["status"] == "running"
        assert [row["id"] for row in there.get("/executions", status="running")["executions"]] == [id_]
        assert there.get("/executions", status="interrupted")["executions"] == []
        for client in (here, there):
            with pytest.raises(Conflict, match="still running"):
                client.execute(resume=id_)
        first.end(signal.SIGKILL)
        assert there.execution(id_)["status"] == "interrupted"
        assert [row["id"] for row in there.get("/executions", status="interrupted")["executions"]] == [id_]
        there.upload("shared", "go", b"")
        assert there.execute(resume=id_).result == "whole"
