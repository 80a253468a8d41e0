"""The sandbox for Deep Agents: the standard suite, the contract since deepagents 0.7, an agent that works in it, and its limits."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from gristmill import BlockingRuntime, Config
from gristmill.errors import ConfigError
from gristmill.serve import langchain
from gristmill.serve.langchain import CodeModeMiddleware, GristmillSandbox
from gristmill.testing import ModelAnswer, ModelCall, ModelServer

ROOT = Path(__file__).parents[3]
SUITE = Path(__file__).with_name("sandbox_suite.py")
make_deep_agent: Any = create_deep_agent  # pyright: ignore[reportUnknownVariableType]


def list_orders() -> list[dict[str, int]]:
    """List all orders."""
    return [{"id": number, "total": number * 10} for number in range(1, 101)]


def make_config(folder: Path, **sandbox: Any) -> Config:
    return Config.model_validate({"store": {"path": str(folder)}, "sandbox": {"programs": ["shell"], **sandbox}})


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = make_config(tmp_path_factory.mktemp("deep"), limits={"seconds": 5})
    with BlockingRuntime(config, tools={"shop.list_orders": list_orders}) as opened:
        yield opened


@pytest.fixture
def sandbox(runtime: BlockingRuntime) -> GristmillSandbox:
    return GristmillSandbox(runtime)


@pytest.mark.thorough
@pytest.mark.requirement("L4")
def test_the_standard_suite_for_sandboxes_passes() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(SUITE),
        "-q",
        "-c",
        "/dev/null",
        "--rootdir",
        str(ROOT),
        "-p",
        "no:schemathesis",
    ]
    options = ["-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:langsmith_plugin"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-1_000:]
    assert (re.findall(r"(\d+) (passed|xfailed|skipped)", done.stdout)) == [("79", "passed"), ("7", "xfailed")], done.stdout[
        -500:
    ]


def test_files_and_commands_as_deepagents_has_them_since_0_7(sandbox: GristmillSandbox) -> None:
    assert sandbox.write("/workspace/src/a.py", "print(1)\n").error is None
    assert sandbox.write("/workspace/src/a.py", "print(2)\n").error is None
    found = sandbox.glob("*.py", path="/workspace")
    assert [match["path"] for match in found.matches or ()] == ["/workspace/src/a.py"]
    assert sandbox.edit("/workspace/src/a.py", "2", "40 + 2").occurrences == 1
    done = sandbox.execute("cd src && python3 a.py && pwd")
    assert (done.output, done.exit_code, done.truncated) == ("42\n/workspace/src\n", 0, False)
    hits = sandbox.grep("40 + 2", path="/workspace").matches
    assert [(hit["path"], hit["line"]) for hit in hits or ()] == [("/workspace/src/a.py", 1)]
    assert sandbox.delete("/workspace/src").error is None
    assert sandbox.execute("ls -A /workspace").output in ("", ".deepagents\n")


def test_an_edit_larger_than_one_argument_of_the_kernel_is_made(sandbox: GristmillSandbox) -> None:
    old = "\u2603" * 8_000
    sandbox.write("/workspace/large.txt", old)
    assert sandbox.edit("/workspace/large.txt", old, "\u4e16" * 8_000).occurrences == 1
    assert sandbox.download_files(["/workspace/large.txt"])[0].content == ("\u4e16" * 8_000).encode()


def test_commands_end_in_time_and_keep_what_they_said(sandbox: GristmillSandbox) -> None:
    stopped = sandbox.execute("echo begun; sleep 60", timeout=1)
    assert (stopped.output, stopped.exit_code) == ("begun\n\n[stopped after 1 seconds]", 124)
    assert sandbox.execute("sleep 60 & echo left").output == "left\n"
    assert sandbox.execute("sleep 60").exit_code == 124  # by the limit of the configuration
    assert sandbox.execute("kill -9 $$").exit_code == 137
    assert sandbox.execute("exit 3").exit_code == 3


def test_output_is_capped_and_read_to_its_end(sandbox: GristmillSandbox) -> None:
    done = sandbox.execute("yes 0123456789 | head -c 3000000; echo end >&2; exit 5")
    assert (done.truncated, done.exit_code) == (True, 5)
    assert 1_000_000 <= len(done.output) < 1_000_200
    assert "only the first 1,000,000 bytes" in done.output[-100:]


def test_output_is_masked_for_the_model(tmp_path: Path) -> None:
    with BlockingRuntime(make_config(tmp_path)) as opened:
        sandbox = GristmillSandbox(opened)
        sandbox.upload_files([("/workspace/a.txt", b"ann@example.com")])
        assert "ann@example.com" not in sandbox.execute("cat a.txt").output + str(sandbox.read("/workspace/a.txt"))
        assert sandbox.download_files(["/workspace/a.txt"])[0].content == b"ann@example.com"


def test_a_file_that_is_too_large_is_an_error_of_that_file(sandbox: GristmillSandbox) -> None:
    large, small = sandbox.upload_files([("/workspace/large", b"x" * 11_000_000), ("/workspace/small", b"x")])
    assert "larger than" in str(large.error)
    assert small.error is None
    assert [one.error for one in sandbox.upload_files([("/usr/bin/cat", b"x"), ("/proc", b"x"), ("/", b"x")])] == [
        "permission_denied", "is_directory", "invalid_path",
    ]  # fmt: skip


def test_without_a_shell_the_error_says_what_to_set(tmp_path: Path) -> None:
    config = Config.model_validate({"store": {"path": str(tmp_path)}})
    with BlockingRuntime(config) as opened, pytest.raises(ConfigError, match=r'programs = \["shell"\]'):
        GristmillSandbox(opened).execute("ls")


def test_files_of_a_program_are_removed_from_the_spool(sandbox: GristmillSandbox) -> None:
    sandbox.upload_files([("/tmp/a", b"x"), ("relative", b"x")])
    sandbox.download_files(["/tmp/a", "/tmp/none"])
    assert sandbox.execute("ls -A /workspace/.deepagents").output == ""


def test_commands_leave_no_names_of_theirs_in_the_session(runtime: BlockingRuntime) -> None:
    runtime.execute("time = 'mine'", session="names")
    GristmillSandbox(runtime, session="names").execute("true")
    names = "[name for name in globals() if name in ('os', 'time', 'subprocess', 'run_shell_command')]"
    assert runtime.execute(names, session="names").result == ["time"]


def test_without_deepagents_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gristmill.serve.langchain.deep_sandbox")
    monkeypatch.setitem(sys.modules, "deepagents.backends.protocol", None)
    with pytest.raises(ImportError, match=r"needs deepagents: pip install 'gristmill\[deepagents\]'"):
        _ = langchain.GristmillSandbox


def ask_agent(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


SUM = "from servers.shop import list_orders\nimport json\njson.dump(list_orders(), open('orders.json', 'w'))"
SCRIPT = [
    ModelAnswer(calls=[ModelCall("execute_code", {"code": SUM})]),
    ModelAnswer(
        calls=[ModelCall("write_file", {"file_path": "/workspace/top.sh", "content": "grep -o '\"id\"' orders.json | wc -l"})]
    ),
    ModelAnswer(calls=[ModelCall("execute", {"command": "sh top.sh"})]),
    ModelAnswer("done"),
]


def make_agent(runtime: BlockingRuntime, model: ModelServer) -> Any:
    llm = ChatOpenAI(model="scripted", base_url=model.openai_url, api_key=SecretStr("key"), max_retries=0)
    return make_deep_agent(
        model=llm, backend=GristmillSandbox(runtime), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver()
    )


@pytest.mark.requirement("L4")
def test_a_deep_agent_works_in_the_session_of_its_programs(runtime: BlockingRuntime) -> None:
    with ModelServer(SCRIPT) as model:
        state = make_agent(runtime, model).invoke(ask_agent("count the orders"), {"configurable": {"thread_id": "deep one"}})
    execute = next(message for message in state["messages"] if message.type == "tool" and message.name == "execute")
    assert execute.text.split()[0] == "100"
    with ModelServer([ModelAnswer(calls=[ModelCall("execute", {"command": "ls /workspace"})]), ModelAnswer("done")]) as model:
        agent, thread = make_agent(runtime, model), {"configurable": {"thread_id": "deep two"}}
        other = asyncio.run(agent.ainvoke(ask_agent("what is there?"), thread))
    assert "orders.json" not in other["messages"][-2].text  # another conversation has other files
