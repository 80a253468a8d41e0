"""`gristmill rollout`, as a person and as a script uses it; and a process that is killed in the middle of a step."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gristmill.config.tree import load_config
from gristmill.rollout.open_rollouts import open_rollouts
from gristmill.rollout.rollout_state import RolloutState, RolloutStep
from gristmill.serve.cli.app import app
from gristmill.testing import ModelAnswer, ModelCall, ModelRequest, ModelServer

CONFIG = """
[rollout]
name = "code-mode"
[rollout.arms.direct]
mode = "direct"
[rollout.arms.code]
mode = "code"
[[rollout.stages]]
percent = 10
for = "2d"
[[rollout.stages]]
percent = 50
[[rollout.guardrails]]
when = "error_rate > 1 %"
window = "1h"
"""


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = state / f"rollout-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in (("GRISTMILL_STORE__PATH", str(folder)), ("NO_COLOR", "1"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    (folder / "gristmill.toml").write_text(CONFIG)
    return folder


def rollout(*options: str) -> str:
    done = run(*options)
    assert (done.exit_code, done.exception) == (0, None), done.output
    return done.stdout


def run(*options: str) -> Result:
    return CliRunner().invoke(app, ("rollout", *options))


@pytest.mark.usefixtures("home")
def test_a_rollout_is_planned_started_advanced_held_and_rolled_back() -> None:
    assert "error_rate > 1 %" in rollout("plan")
    assert "not begun" in rollout("status")
    assert "10 % have a new arm" in rollout("start", "--by", "ann", "--reason", "first\x1b[31m try")
    told = rollout("status")
    assert "stage 1 of 2" in told
    assert "on 50 %, if the guardrails" in told
    assert "0 of 100" in told
    assert "\x1b" not in told
    rollout("advance")
    rollout("hold")
    assert "10 %" in rollout("rollback", "--one-stage")
    assert "rolled back, 0 %" in rollout("rollback", "--reason", "complaints")
    found = json.loads(rollout("status", "--json"))
    assert found["state"]["standing"] == "rolled_back"
    assert [one["step"] for one in found["steps"]] == ["rollback", "back", "hold", "advance", "start"]
    recorded = CliRunner().invoke(app, ("audit", "list", "--kind", "rollout", "--json"))
    assert len(json.loads(recorded.stdout)) == 5


@pytest.mark.usefixtures("home")
def test_what_cannot_be_done_is_said(home: Path) -> None:
    refused = run("advance")
    assert refused.exit_code == 1
    assert "has not begun" in str(refused.exception)
    assert "there is no arm 'codes'" in str(run("simulate", "--error", "codes=5%").exception)
    assert "code=5%" in str(run("simulate", "--error", "code=much").exception)
    assert "no outcome of the arm" in str(run("simulate").exception or run("simulate").output)
    (home / "gristmill.toml").write_text(CONFIG.replace("error_rate", "eror_rate"))
    assert "there is no figure 'eror_rate'" in str(run("status").exception)
    (home / "gristmill.toml").write_text(CONFIG.replace("percent = 50", "percent = 5"))
    assert "must grow" in str(run("status").exception)
    (home / "gristmill.toml").write_text("")
    assert "no rollout is configured" in str(run("status").exception)


@pytest.mark.usefixtures("home")
def test_simulations_and_reports_are_printed() -> None:
    played = ("simulate", "--error", "direct=0.2%", "--error", "code=20%", "--conversations", "20000")
    assert "rollback" in rollout(*played)
    found = json.loads(rollout(*played, "--json"))
    assert found["standing"] == "rolled_back"
    assert found["steps"][0]["step"] == "rollback"
    rollout("start")
    assert "0 conversations" in rollout("report")
    assert json.loads(rollout("report", "--json"))["percent"] == 10


def choose_answer(request: ModelRequest) -> ModelAnswer:
    """Right with direct calls; with code a program first, and wrong once."""
    if "execute_code" not in request.tools:
        return ModelAnswer("It is 1,042.", input_tokens=9_000, output_tokens=5)
    if not request.tool_results:
        return ModelAnswer("I count.", [ModelCall("execute_code", {"code": "1_000 + 42"})], input_tokens=300, output_tokens=20)
    return ModelAnswer("no" if "hard" in request.question else "It is 1042.", input_tokens=400, output_tokens=5)


def test_the_same_questions_are_compared_both_ways(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "none")
    (home / "tasks.jsonl").write_text(
        "".join(json.dumps({"message": text, "expected": ["1042"]}) + "\n" for text in ("easy", "hard", "plain"))
    )
    (home / "judges.py").write_text("async def judge(task, answer):\n    return 0.25 if '042' in answer.text else 0\n")
    section = '[chat]\nmodel = "openai:scripted"\nbase_url = "{url}"\n[servers.sums]\npython = "statistics"\ninclude = ["mean"]\n'
    # LangChain keeps connections by address, and each run has an event loop of its own: so each has a server of its own.
    with ModelServer(choose_answer) as model, ModelServer(choose_answer) as other:
        (home / "gristmill.toml").write_text(CONFIG + section.format(url=model.openai_url))
        found = json.loads(rollout("compare", "tasks.jsonl", "--json"))
        (home / "gristmill.toml").write_text(CONFIG + section.format(url=other.openai_url))
        shown = rollout("compare", "tasks.jsonl", "--worst", "1", "--judge", "judges.py:judge")
    figures = {one["figure"]: one for one in found["differences"]}
    assert (figures["tokens"]["old"], figures["tokens"]["new"]) == (9_005, 725)
    assert figures["accuracy"]["old"] == 1
    assert {one["verdict"] for one in found["differences"]} == {"not known yet"}  # three questions prove nothing
    assert (found["tasks"][0]["message"], found["tasks"][0]["new"]["accuracy"]) == ("hard", 0)
    assert "hard" in shown
    assert "0.25" in shown  # of the judge
    assert "has no function 'none'" in str(run("compare", "tasks.jsonl", "--judge", "judges.py:none").exception)
    assert "cannot be loaded" in str(run("compare", "tasks.jsonl", "--judge", "nowhere.py:judge").exception)
    assert "two arms" in str(run("compare", "tasks.jsonl", "--arms", "code").exception)


KILLED = """
import asyncio, os, signal, sys
from gristmill.config.tree import load_config
from gristmill.rollout import rollout_store
from gristmill.rollout.open_rollouts import open_rollouts

take, where = rollout_store._take_step, sys.argv[1]

class Killing:
    def __init__(self, transaction):
        self.transaction = transaction
    def run(self, sql, *values):
        found = self.transaction.run(sql, *values)
        if where in sql:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

rollout_store._take_step = lambda transaction, **given: take(Killing(transaction), **given)

async def main():
    async with open_rollouts(load_config()) as rollouts:
        await rollouts.take_step("rollback", by="ann")

asyncio.run(main())
"""


@pytest.mark.parametrize("where", ["SELECT name", "INSERT INTO rollouts", "INSERT INTO rollout_steps"])
def test_a_step_is_whole_or_not_there_when_its_process_is_killed(home: Path, where: str) -> None:
    rollout("start")
    rollout("advance")
    done = subprocess.run([sys.executable, "-c", KILLED, where], cwd=home, timeout=60, check=False)
    assert done.returncode == -9

    async def read() -> tuple[RolloutState, tuple[RolloutStep, ...]]:
        async with open_rollouts(load_config()) as rollouts:
            return await rollouts.read_state(), await rollouts.steps.list_steps("code-mode")

    state, steps = asyncio.run(read())
    assert (state.percent, state.version, [one.step for one in steps]) == (50, 2, ["advance", "start"])
    assert "rolled back" in rollout("rollback")
