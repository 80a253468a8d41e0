"""Each framework reads and writes through the real service, with the tools of an example app; its user approves what writes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer
from tests.e2e.http.conftest import Service, start
from tests.frameworks.responses_stub import serve_responses
from tests.servers import client_python

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
SETTINGS = """
[serve]
port = 0
[sandbox]
warm = 1
[servers.pam]
command = "COMMAND"
args = ["-m", "examples.pam", "--user", "7", "--db", "DATABASE"]
env = { PYTHONPATH = "ROOT" }
[policy]
deny = ["pam.delete_*"]
"""
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}
"""Tests reach nothing but this machine: frameworks that report home are told not to."""


def mark_heavy(name: str) -> Any:
    """A framework whose environment is large: `make test-frameworks` installs and tests it."""
    return pytest.param(name, marks=pytest.mark.thorough)


READ = """<<<run
from servers import pam
totals = pam.sum_expenses_by_category(user_id=7, start_date="2026-06-01")
next(total["total"] for total in totals if total["category"] == "fuel")
>>>"""
WRITE = """<<<run
from servers import pam
made = pam.add_expense(user_id=7, date="2026-06-30", category="fuel", amount=12.5, merchant="FRAMEWORK")
"added"
>>>"""


def obey(request: ModelRequest) -> ModelAnswer | ModelFailure:
    """A model that runs the program in the user's question, and repeats what came back."""
    if request.tool_results:
        return ModelAnswer(f"It says: {request.tool_results[-1]}")
    if said := re.search(r"```tool_output\s(.*?)```", request.last_text, re.DOTALL):
        return ModelAnswer(f"It says: {said[1]}")
    found = re.search(r"<<<(run|resume|block)\s(.*?)>>>", request.last_text, re.DOTALL)
    if found is not None and found[1] == "block":
        return ModelAnswer(f"```python\n{found[2]}\n```")
    execute = next((name for name in request.tools if name.endswith("execute_code")), None)
    if found is None or execute is None:
        return ModelFailure(400, f"nothing to do in {request.last_text!r} with {request.tools}")
    text = found[2].strip()
    return ModelAnswer(calls=[ModelCall(execute, {"code": text} if found[1] == "run" else {"code": "", "resume": text})])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    state = tmp_path_factory.mktemp("frameworks")
    state.chmod(0o755)
    settings = SETTINGS.replace("COMMAND", sys.executable).replace("ROOT", str(ROOT)).replace("DATABASE", str(state / "pam.db"))
    with start(state, settings) as started:
        yield started


def use_framework(name: str, service: Service, caller: str) -> tuple[dict[str, Any], ModelServer]:
    """Runs the script of a framework; returns what it printed, and what its model was asked."""
    with ModelServer(obey) as model:
        return run_script(name, service, caller, model.openai_url, READ, WRITE), model


def run_script(name: str, service: Service, caller: str, *arguments: str) -> dict[str, Any]:
    """Runs the script of a client in its own environment, with the tokens of a caller; returns what it printed."""
    state = service.config.state_dir
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(state), **QUIET,
        "GRISTMILL_STORE__PATH": str(state),
        "GRISTMILL_TOKEN": service.tokens[caller], "GRISTMILL_APPROVER_TOKEN": service.tokens["boss"],
    }  # fmt: skip
    done = subprocess.run(
        [client_python(f"client-{name}"), str(HERE / f"with_{name.replace('-', '_')}.py"), service.url, *arguments],
        env=variables, cwd=state, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout.splitlines()[-1])


def count_written(service: Service) -> int:
    code = "from servers import pam\nlen(pam.search_expenses(user_id=7, text='FRAMEWORK'))"
    with service.client("ann") as client:
        return client.post("/execute", json={"code": code}).json()["result"]


def check_answers(seen: dict[str, Any], model: ModelServer) -> None:
    """Checks what every framework has to do: it offers two tools, and its model gets the results of programs."""
    names = [name for asked in model.requests for name in asked.tools]
    assert {re.sub(".*(search_tools|execute_code)$", r"\1", name) for name in names} == {"search_tools", "execute_code"}
    assert re.search(r"result\W+\d+\.\d+", seen["answers"][0]), seen
    assert re.search(r"result\W+added", seen["answers"][1]), seen


@pytest.mark.parametrize("name", [pytest.param("pydantic-ai"), mark_heavy("agent-framework"), mark_heavy("adk")])
def test_the_user_approves_in_the_middle_of_a_call(service: Service, name: str) -> None:
    before = count_written(service)
    seen, model = use_framework(name, service, "ann_both")
    check_answers(seen, model)
    assert "pam.add_expense" in seen["shown"][0]
    assert count_written(service) == before + 1
    if name == "adk":  # a code block of the model, run by us as ADK's code executor
        assert re.search(r"It says: .*\d+\.\d+", seen["block"], re.DOTALL), seen


@pytest.mark.parametrize("name", [pytest.param("openai-agents"), mark_heavy("llamaindex"), mark_heavy("crewai")])
def test_the_plan_waits_in_the_inbox_for_a_framework_that_cannot_ask(service: Service, name: str) -> None:
    before = count_written(service)
    seen, model = use_framework(name, service, "ann")
    check_answers(seen, model)
    assert "awaiting_approval" in seen["waiting"]
    assert seen["calls"] == ["pam.add_expense"]
    assert count_written(service) == before + 1
    if name == "openai-agents":  # it asks its user before any program runs
        assert "sum_expenses_by_category" in seen["programs"][0]


@pytest.mark.parametrize("name", ["anthropic-sdk", "openai-sdk"])
def test_a_providers_own_sdk_takes_the_exported_array(service: Service, name: str, tmp_path: Path) -> None:
    export = [
        sys.executable,
        "-m",
        "gristmill",
        "export",
        "--format",
        name.removesuffix("-sdk"),
        "--to",
        str(tmp_path / "tools.json"),
    ]
    options = ["-c", str(service.config.state_dir / "gristmill.toml")]
    subprocess.run([*export, *options], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60)
    arguments = {"user_id": 7, "start_date": "2026-06-01"}
    if name == "openai-sdk":
        with serve_responses("sum_expenses_by_category", arguments) as (url, requests):
            seen = run_script(name, service, "ann", url, str(tmp_path / "tools.json"))
        offered = requests[0]["tools"]
    else:
        script = answer_call(ModelCall("pam__sum_expenses_by_category", arguments))
        with ModelServer(script) as model:
            seen = run_script(name, service, "ann", model.openai_url, str(tmp_path / "tools.json"))
        offered = list(model.requests[0].body["tools"])
    assert offered == json.loads((tmp_path / "tools.json").read_text())["tools"]
    assert re.search(r'It says: .*"category": "fuel".*"total": \d+', seen["answer"]), seen


def answer_call(call: ModelCall) -> Any:
    """A model that makes one call and repeats what came back."""

    def answer(request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(f"It says: {request.tool_results[-1]}") if request.tool_results else ModelAnswer(calls=[call])

    return answer
