"""A state folder that cannot be written is an error at every door, at once and in one line."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import gristmill as library
from tests.e2e.mcp.conftest import environ
from tests.e2e.mcp.test_stdio import Peer
from tests.e2e.test_cli import gristmill


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder that even root cannot write: what should be its parent is a file."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "state"


@pytest.fixture
def config(tmp_path: Path, unwritable: Path) -> Path:
    file = tmp_path / "gristmill.toml"
    file.write_text(f'[store]\npath = {json.dumps(str(unwritable))}\n[servers.sums]\npython = "statistics"\ninclude = ["mean"]\n')
    return file


@pytest.mark.requirement("T152")
def test_every_tool_of_the_stdio_server_answers_with_the_error(config: Path, unwritable: Path) -> None:
    command = [sys.executable, "-m", "gristmill", "serve", "--config", str(config)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ()
    ) as process:
        watchdog = threading.Timer(60, process.kill)  # a server that never answers must not hold up the tests for ever
        watchdog.start()
        try:
            peer = Peer(process)
            peer.shake_hands()
            requests: list[dict[str, Any]] = [
                {"method": "tools/call", "params": {"name": "execute_code", "arguments": {"code": "1"}}},
                {"method": "tools/call", "params": {"name": "search_tools", "arguments": {"query": "mean"}}},
                {"method": "tools/call", "params": {"name": "execute_code", "arguments": {"code": "1", "session": "s"}}},
                {"method": "resources/list"},
            ]
            for number, request in enumerate(requests, 1):
                peer.send({"jsonrpc": "2.0", "id": number, **request})
                answer = json.dumps(peer.answer(number))
                assert "cannot be written" in answer
                assert str(unwritable) in answer
            peer.send({"jsonrpc": "2.0", "id": 9, "method": "ping"})
            assert peer.answer(9)["result"] == {}
        finally:
            watchdog.cancel()
            process.kill()
        assert process.stderr
        assert process.stderr.read().decode().count("\n") == 1


@pytest.mark.requirement("T152")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-"),
        ("search", "mean"),
        ("tools",),
        ("describe", "sums.mean"),
        ("sessions", "list"),
        ("skills", "list"),
        ("tokens", "list"),
        ("stats",),
        ("shell",),
        ("serve", "--http", "--port", "0"),
    ],
    ids=" ".join,
)
def test_every_verb_prints_one_line_and_an_exit_code(arguments: tuple[str, ...], config: Path, unwritable: Path) -> None:
    done = gristmill(*arguments, stdin="1", cwd=config.parent)
    *before, last = done.stderr.splitlines()
    assert last.startswith("error the state folder")
    assert str(unwritable) in last
    assert "`path` under [store]" in last
    assert "Traceback" not in "".join(before)
    assert done.returncode == 2


@pytest.mark.requirement("T152")
def test_the_demonstration_has_a_store_of_its_own_and_needs_no_state_folder(config: Path, unwritable: Path) -> None:
    done = gristmill("demo", "--json", cwd=config.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["outcome"]["status"] == "ok"
    assert not unwritable.exists()


@pytest.mark.requirement("T152")
def test_the_library_raises_a_configuration_error(config: Path) -> None:
    with pytest.raises(library.ConfigError, match="cannot be written"), library.BlockingRuntime(config):
        pass
