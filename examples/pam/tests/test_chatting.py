"""PAM's chat over the WebSocket of a real gateway: filters, workflows, polling, and single calls without a program."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.opening import ROOT
from examples.pam.chatting import ChatRefused, chat
from examples.tasks.pam import ME, TASKS
from examples.tasks.task import Task
from examples.tasks.truth import open_truth
from gristmill.testing import ModelAnswer, ModelCall, ModelRequest, ModelServer

ASKED = {task.id: task for task in TASKS if task.id in ("pam-merchants", "pam-over-budget", "pam-wait")}
"""One of each kind: what is filtered from many rows, what takes several steps, what is waited for."""
PARKS = "Which parks in Utah take pets?"


def choose_answer(request: ModelRequest) -> ModelAnswer:
    """Writes the program of the task that was asked, and then says what came back."""
    if request.tool_results:
        return ModelAnswer(f"Here it is: {request.tool_results[-1].splitlines()[-1]}")
    if PARKS in request.last_text:
        return ModelAnswer(calls=[ModelCall("pam__find_parks", {"state": "UT", "pets": True})])
    for task in ASKED.values():
        if task.question in request.last_text:
            return ModelAnswer("I look.", [ModelCall("execute_code", {"code": task.program})])
    return ModelAnswer("Safe travels!")


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    with ModelServer(choose_answer) as opened:
        yield opened


@pytest.fixture(scope="module")
def gateway(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The gateway as README starts it; the model is named by the environment."""
    folder = tmp_path_factory.mktemp("pam")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    text = (ROOT / "examples/pam/gristmill.toml").read_text()
    assert 'command = ".venv/bin/python"' in text
    text = text.replace('command = ".venv/bin/python"', f'command = "{sys.executable}"\ncwd = "{ROOT}"')
    (folder / "gristmill.toml").write_text(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    named = {
        "GRISTMILL_CHAT__MODEL": "openai:scripted", "GRISTMILL_CHAT__BASE_URL": model.openai_url,
        "GRISTMILL_STORE__PATH": str(folder / "state"),
    }  # fmt: skip
    command = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", str(port), "-c", str(folder / "gristmill.toml")]
    process = subprocess.Popen(command, env={**os.environ, **named}, cwd=folder)
    try:
        _wait(f"http://127.0.0.1:{port}/health", process)
        yield f"ws://127.0.0.1:{port}/ws"
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise RuntimeError("the gateway does not answer")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def use_gateway(gateway: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAM_CHAT_URL", gateway)
    monkeypatch.delenv("GRISTMILL_TOKEN", raising=False)


@pytest.mark.anyio
@pytest.mark.parametrize("task", ASKED.values(), ids=ASKED)
async def test_a_question_of_each_kind_is_one_program_with_the_true_answer(task: Task, model: ModelServer) -> None:
    before = len(model.requests)
    answer = await chat(task.question, ME)

    assert (answer["status"], [each["status"] for each in answer["programs"]]) == ("answered", ["ok"])
    for each in _leaves(task.expected(open_truth("pam"))):
        assert str(each) in answer["text"]
    first, second = model.requests[before:]
    assert "You are PAM" in first.system
    assert "user_id" in first.last_text, "the model knows that there is a number"
    assert "(`context` has: user_id)" in str(second.messages), "and not which"
    assert answer["usage"]["requests"] == 2


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for pair in value.items() for part in pair for leaf in _leaves(part)]  # pyright: ignore[reportUnknownVariableType]
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


@pytest.mark.anyio
async def test_a_single_call_needs_no_program_and_streams_its_events(model: ModelServer) -> None:
    events = [event async for event in await chat(PARKS, ME, stream=True)]

    assert {"pam__find_parks", "execute_code", "search_tools"} <= set(model.requests[-1].tools)
    assert [event["tool"] for event in events if event["type"] == "code"] == ["pam.find_parks"]
    assert "".join(event["text"] for event in events if event["type"] == "text") == events[-1]["answer"]["text"]
    assert events[-1]["answer"]["mode"] == "hybrid"


@pytest.mark.anyio
async def test_a_conversation_goes_on(model: ModelServer) -> None:
    first = await chat("hello", ME)
    second = await chat("and again", ME, conversation=first["conversation"])

    assert (second["conversation"], second["turn"]) == (first["conversation"], 2)
    assert "hello" in str(model.requests[-1].messages)
    with pytest.raises(ChatRefused, match="conversation"):
        await chat("hello", ME, conversation="somebody-elses")


def test_all_47_tools_are_behind_it(gateway: str) -> None:
    listed = httpx2.get(gateway.replace("ws:", "http:").replace("/ws", "/tools/pam")).json()
    assert len(listed) == 47


def test_the_command_prints_the_answer_as_it_comes(gateway: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.pam.chatting", PARKS, "--user", "7"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PAM_CHAT_URL": gateway}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith("\n[pam.find_parks,")
    assert "Here it is:" in done.stdout
    assert "[answered, conversation " in done.stdout
    gone = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PAM_CHAT_URL": "ws://127.0.0.1:9/ws"}, capture_output=True, text=True, timeout=60
    )
    assert gone.returncode == 2
    assert "is the gateway there?" in gone.stderr
