"""A conversation outlives its process: question, code, plan, process killed, decided and resumed elsewhere, every write done once."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelServer, answer_by_turn
from tests.servers import postgres

CODE = """
from servers import rows
for number in range(1, 21):
    rows.write(row=number)
f"all written to {context.table}"
"""
SCRIPT = answer_by_turn([ModelAnswer("I write.", [ModelCall("execute_code", {"code": CODE})]), ModelAnswer("Twenty rows.")])


@pytest.fixture
def model() -> Generator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def settings(request: pytest.FixtureRequest, tmp_path: Path, model: ModelServer) -> Generator[dict[str, Any]]:
    store = {"path": str(tmp_path / "state")}
    found = {"config": {"store": store, "policy": {"ask": ["rows.*"]}}, "model": model.openai_url, "file": str(tmp_path / "rows")}
    if request.param == "sqlite":
        yield found
        return
    with postgres.server() as server:
        store["url"] = f"postgresql://mill:${{env:MILL_PASSWORD}}@127.0.0.1:{server.port}/postgres"
        yield found


def take(settings: dict[str, Any], do: str, *, kill: bool = False, **more: Any) -> dict[str, Any]:
    """Takes a step in a process of its own, and returns what it said; it is killed then, or ends by itself."""
    asked = {**settings, "do": do, "stays": kill, **more}
    command = [sys.executable, "-m", "tests.e2e.chat.chat_process", json.dumps(asked)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "MILL_PASSWORD": postgres.PASSWORD}
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if kill:
            process.kill()
        assert process.wait(60) == (-9 if kill else 0)
    return json.loads(line)


def read_rows(settings: dict[str, Any]) -> list[int]:
    file = Path(settings["file"])
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_a_plan_is_applied_once_by_another_process_after_the_first_was_killed(
    settings: dict[str, Any], model: ModelServer
) -> None:
    asked = take(settings, "send", kill=True)
    assert (asked["status"], len(asked["approval"]["calls"]), read_rows(settings)) == ("awaiting_approval", 20, [])

    done = take(settings, "decide", conversation=asked["conversation"])
    assert (done["status"], done["text"], done["turn"]) == ("answered", "Twenty rows.", 1)
    assert read_rows(settings) == list(range(1, 21))
    assert len(model.requests) == 2  # nothing was asked of the model again
    assert "all written to orders" in model.requests[1].tool_results[0]  # the context outlived the process, too


def test_a_process_that_is_killed_while_it_applies_a_plan_is_continued_without_repeating_a_call(settings: dict[str, Any]) -> None:
    asked = take(settings, "send")
    assert take(settings, "decide", conversation=asked["conversation"], stop_at=10, kill=True) == {"stopped": 10}
    assert read_rows(settings) == list(range(1, 10))

    # Whether the tenth call was made cannot be known, so it is asked again; those before it are not made again.
    again = take(settings, "resume", conversation=asked["conversation"])
    first = again["approval"]["calls"][0]
    assert (again["status"], first["arguments"], first["was_lost"]) == ("awaiting_approval", {"row": 10}, True)
    assert read_rows(settings) == list(range(1, 10))

    done = take(settings, "decide", conversation=asked["conversation"])
    assert (done["status"], done["text"]) == ("answered", "Twenty rows."), done
    assert read_rows(settings) == list(range(1, 21))
