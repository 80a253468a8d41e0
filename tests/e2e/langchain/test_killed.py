"""A plan outlives its process: question, code, plan, interrupt, process killed, resumed elsewhere, every write applied once."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelServer, answer_by_turn
from tests.servers import postgres

CODE = """
from servers import rows
for number in range(1, 21):
    rows.write(row=number)
"all written"
"""
SCRIPT = answer_by_turn([ModelAnswer("I write.", [ModelCall("execute_code", {"code": CODE})]), ModelAnswer("Twenty rows.")])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def checkpoints(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """The address of a store for LangGraph's checkpoints."""
    if request.param == "sqlite":
        yield str(tmp_path / "checkpoints.sqlite")
        return
    with postgres.server() as server:
        yield f"postgresql://mill:{quote(postgres.PASSWORD, safe='')}@127.0.0.1:{server.port}/postgres"


@pytest.fixture
def model() -> Generator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, checkpoints: str, model: ModelServer) -> dict[str, Any]:
    config = {"store": {"path": str(tmp_path / "state")}, "policy": {"ask": ["rows.*"]}}
    return {"config": config, "checkpoints": checkpoints, "model": model.openai_url, "file": str(tmp_path / "rows")}


def invoke(settings: dict[str, Any], *, kill: bool = False, **more: Any) -> dict[str, Any]:
    """Invokes the agent in a process of its own, and returns what it said; it is killed then, or ends by itself."""
    command = [sys.executable, "-m", "tests.e2e.langchain.agent_process", json.dumps({**settings, **more})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if kill:
            process.kill()
        assert process.wait(60) == (-9 if kill else 0)
    return json.loads(line)


def read_rows(settings: dict[str, Any]) -> list[int]:
    file = Path(settings["file"])
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.requirement("L1")
def test_a_plan_is_applied_once_in_another_process_after_the_first_was_killed(
    settings: dict[str, Any], model: ModelServer
) -> None:
    asked = invoke(settings, kill=True)
    (question,) = asked["interrupts"]
    assert (len(question["calls"]), question["groups"]) == (20, [{"tool": "rows.write", "calls": list(range(1, 21))}])
    assert read_rows(settings) == []

    done = invoke(settings, resume={"approve": "all", "hash": question["hash"]})
    assert (done["answer"], done["artifact"]["status"], done["artifact"]["result"]) == ("Twenty rows.", "ok", "all written")
    assert read_rows(settings) == list(range(1, 21))
    assert len(model.requests) == 2  # nothing was asked of the model again


@pytest.mark.requirement("L1")
@pytest.mark.thorough
def test_a_process_that_is_killed_while_it_applies_a_plan_is_continued_without_repeating_a_call(settings: dict[str, Any]) -> None:
    invoke(settings)
    assert invoke(settings, kill=True, stop_at=10, resume={"approve": "all"}) == {"stopped": 10}
    assert read_rows(settings) == list(range(1, 10))

    # Whether the tenth call was made cannot be known, so it is asked again; those before it are not made again.
    (question,) = invoke(settings, resume={"approve": "all"})["interrupts"]
    first = question["calls"][0]
    assert (first["arguments"], first["was_lost"]) == ({"row": 10}, True)
    assert read_rows(settings) == list(range(1, 10))

    done = invoke(settings, resume={"approve": "all"})
    assert done["artifact"]["status"] == "ok", done
    assert read_rows(settings) == list(range(1, 21))
