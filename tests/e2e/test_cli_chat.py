"""Chat: at a terminal and by a pipe, with a scripted model over the real protocols, and real tools in the sandbox."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer, answer_by_question
from tests.e2e.at_terminal import Terminal
from tests.e2e.test_cli import gristmill

CONFIG = """
[servers.sums]
python = "statistics"
include = ["mean", "median"]

[policy]
ask = ["sums.median"]
allow = ["sums.mean"]

[chat]
retries = 1
"""
PROGRAM = "from servers import sums\nprint('mean', sums.mean(data=[10, 30]))\nopen('rows.csv', 'w').write('a,b')"
ASKS = "from servers import sums\nprint('median', sums.median(data=[1, 2, 3]))"
READY = r"\n> "
gate = Event()


def run(code: str) -> ModelAnswer:
    return ModelAnswer(
        "Let me see.", [ModelCall("execute_code", {"code": code})], input_tokens=900, output_tokens=40, cached_tokens=300
    )


SCRIPT = answer_by_question(
    {
        "mean": [run(PROGRAM), ModelAnswer("The mean is **20**.", input_tokens=1000, output_tokens=10, cached_tokens=900)],
        "median": [run(ASKS), ModelAnswer("The median is 2.")],
        "wait": [run("import time\nprint('begun', flush=True)\ntime.sleep(600)"), ModelAnswer("That took long.")],
        "stream": [ModelAnswer("one two three", pause=lambda: gate.wait(60), pause_at=2)],
        "limit": [ModelFailure(429, "slow down", retry_after=0.1), ModelAnswer("Here I am.")],
        "key": [ModelFailure(401, "Incorrect API key provided")],
        "": [ModelAnswer("Hello \x1b[2J there.")],
    }
)


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    with ModelServer(SCRIPT) as served:
        yield served


@pytest.fixture
def here(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n{CONFIG}")
    return tmp_path


@pytest.fixture(params=["openai", "anthropic"])
def chosen(model: ModelServer, request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the model, over each protocol."""
    return ["-m", f"{request.param}:scripted", "--base-url", model.openai_url if request.param == "openai" else model.url]


@pytest.fixture
def terminal(here: Path, model: ModelServer) -> Generator[Terminal]:
    terminal = Terminal(here, "chat", "-m", "openai:scripted", "--base-url", model.openai_url)
    terminal.wait_for("> ")
    yield terminal
    terminal.close()


def test_a_pipe_gets_the_answer_over_both_protocols(here: Path, chosen: list[str]) -> None:
    done = gristmill("chat", *chosen, stdin="what is the mean?\n", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "The mean is **20**.\n", "")


def test_a_pipe_gets_everything_as_json(here: Path, chosen: list[str]) -> None:
    done = gristmill("chat", *chosen, "--json", stdin="what is the mean?", cwd=here)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["status"], answer["programs"][0]["status"]) == ("answered", "ok")
    assert answer["programs"][0]["tools_called"] == ["sums.mean"]
    assert (answer["usage"]["input_tokens"], answer["usage"]["cached_tokens"], answer["usage"]["requests"]) == (1900, 1200, 2)


def test_a_question_is_answered_in_another_call(here: Path, chosen: list[str]) -> None:
    waits = gristmill("chat", *chosen, "what is the median?", cwd=here)
    assert waits.returncode == 7
    assert "sums.median" in waits.stderr
    conversation = waits.stderr.partition("--conversation ")[2].split()[0]
    done = gristmill("chat", *chosen, "--conversation", conversation, "--approve", "all", cwd=here)
    assert (done.returncode, done.stdout.strip().endswith("The median is 2.")) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (("hello",), "", "model"),
        (("-m", "gpt-5", "hello"), "", "provider:name"),
        (("-m", "openai:x", "--base-url", "http://127.0.0.1:9", "-"), " ", "there is no message"),
        (("-m", "openai:x", "--approve", "all"), "", "--approve needs --conversation"),
        (("-m", "openai:x", "--conversation", "c", "--approve", "some"), "", "--approve takes"),
        (("-m", "openai:x", "--context", "a", "hello"), "", "NAME=VALUE"),
        (("-m", "openai:x", "--base-url", "http://127.0.0.1:9", "--conversation", "last", "hello"), "", "no conversation yet"),
    ],
)
def test_what_cannot_be_done_is_one_line(here: Path, arguments: tuple[str, ...], stdin: str, says: str) -> None:
    done = gristmill("chat", *arguments, stdin=stdin, cwd=here)
    assert (done.returncode, says in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_a_key_that_is_refused_is_said_and_is_the_exit_code(here: Path, model: ModelServer) -> None:
    done = gristmill("chat", "-m", "openai:s", "--base-url", model.openai_url, "the key?", cwd=here)
    assert done.returncode == 1
    assert "refuses the key" in done.stderr


def test_a_person_sees_program_calls_answer_and_cost_and_goes_on(terminal: Terminal, here: Path) -> None:
    seen = terminal.type("what is the mean?\n", READY)
    places = [seen.find(words) for words in ("│ from servers import sums", "✓ sums.mean", "mean 20", "The mean is", "tokens in")]
    assert sorted(places) == places
    assert places[0] > 0
    assert "rows.csv" in terminal.type("/files\n", READY)
    assert "a,b" in terminal.type("/files rows.csv\n", READY)
    assert "1 turns: 1,900 tokens in (1,200 cached)" in terminal.type("/cost\n", READY)
    assert "sums (2 tools)" in terminal.type("/tools\n", READY)
    terminal.type("/save talk.md\n", READY)
    assert "The mean is **20**." in (here / "talk.md").read_text()
    assert "what is the mean?" in terminal.type("/list\n", READY)
    assert "forgotten" in terminal.type("/undo\n", READY)
    assert "Hello \\x1b[2J there." in terminal.type("hi\n", READY)


@pytest.mark.parametrize(("answer", "words"), [("a", "median 2"), ("n", "The median is 2.")])
def test_calls_that_wait_are_one_question(terminal: Terminal, answer: str, words: str) -> None:
    asked = terminal.type("what is the median?\n", r"approve\?.*: ")
    assert "sums.median\r\n    1  " in asked
    assert words in terminal.type(f"{answer}\n", READY)


def test_ctrl_c_stops_the_program_and_not_the_conversation(terminal: Terminal) -> None:
    terminal.type("please wait\n", "begun")
    assert "stopped" in terminal.type("\x03", READY)
    assert "That took long." in terminal.type("/resume\n", READY)
    assert "The mean is" in terminal.type("what is the mean?\n", READY)


def test_ctrl_c_stops_the_model_while_it_writes(terminal: Terminal, model: ModelServer) -> None:
    gate.clear()
    gone = len(model.abandoned)
    terminal.type("please stream\n", "one")
    assert "stopped" in terminal.type("\x03", READY)
    gate.set()
    model.wait_for_abandoned(gone + 1)


def test_a_question_that_was_left_open_is_asked_again(terminal: Terminal, here: Path, model: ModelServer) -> None:
    address = ["-m", "openai:scripted", "--base-url", model.openai_url]
    waits = gristmill("chat", *address, "what is the median?", cwd=here)
    conversation = waits.stderr.partition("--conversation ")[2].split()[0]
    assert "sums.median" in terminal.type(f"/open {conversation}\n", r"approve\?.*: ")
    assert "median 2" in terminal.type("a\n", READY)
    assert "deleted" in terminal.type(f"/delete {conversation}\n", READY)
    assert "no conversation" in terminal.type(f"/open {conversation}\n", READY)


def test_waiting_for_the_provider_is_shown(terminal: Terminal) -> None:
    seen = terminal.type("the limit\n", READY)
    assert "waiting" in seen
    assert "Here I am." in seen


def test_ctrl_d_leaves_and_what_was_typed_is_kept_for_its_owner(here: Path, model: ModelServer) -> None:
    terminal = Terminal(here, "chat", "-m", "openai:scripted", "--base-url", model.openai_url)
    terminal.wait_for("> ")
    terminal.type("/help\n", READY)
    os.write(terminal.fd, b"\x04")
    terminal.wait_for(r"\n")
    assert os.waitpid(terminal.pid, 0)[1] == 0
    os.close(terminal.fd)
    history = here / "state" / "chat_history"
    assert ("/help" in history.read_text(), history.stat().st_mode & 0o777) == (True, 0o600)
