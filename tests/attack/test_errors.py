"""Errors tell code what went wrong, and neither a credential nor a folder of the host."""

import os
import secrets
from pathlib import Path

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.errors import StoreUnavailable
from tests.attack.wall import opened, reachable

TOKEN = f"ghp_{secrets.token_hex(18)}"
PASSWORD = f"pw-{secrets.token_hex(12)}"


def ask_with_token() -> str:
    """A function of the host whose library writes the request into its error."""
    raise RuntimeError(f"401 for https://api.example.com/?access_token={PASSWORD} with {TOKEN}, request 17")


def read_file() -> str:
    """A function of the host that misses a file."""
    return Path("/srv/private-folder/of-the-host/settings.json").read_text()


def print_state() -> str:
    """A function of the host whose error names the state folder."""
    raise RuntimeError(f"cannot write {STATE[0]}/gristmill.db now")


STATE: list[str] = []
TOLD = """
from servers import t
told = []
for function in (t.ask_with_token, t.read_file, t.print_state):
    try:
        function()
    except Exception as error:
        told.append(f"{type(error).__name__} {error} {error.args} {error.__cause__!r} {vars(error)}")
told
"""


@pytest.mark.requirement("T74")
@pytest.mark.parametrize("mode", ["output", "full", "off"])
def test_errors_of_host_functions_bring_no_credential_and_no_folder_to_code(tmp_path: Path, mode: str) -> None:
    tools = {"t.ask_with_token": ask_with_token, "t.read_file": read_file, "t.print_state": print_state}
    STATE[:] = [str(tmp_path)]
    reachable(tmp_path)
    settings = {"store": {"path": str(tmp_path)}, "mask": {"mode": mode}, "sandbox": {"isolation": "namespaces"}}
    with BlockingRuntime(Config.model_validate(settings), tools=tools) as runtime:
        outcome = runtime.execute(TOLD)
    assert outcome.status == "ok", outcome
    asked, read, printed = outcome.result
    for text in (asked, read, printed):
        assert not any(word in text for word in (TOKEN, PASSWORD, "private-folder", str(tmp_path)))
    assert "RuntimeError: 401 for https://api.example.com/?access_token=" in asked
    assert "request 17" in asked
    assert "settings.json" in read
    assert "<state>/gristmill.db" in printed


@pytest.mark.requirement("T75")
def test_a_relative_state_folder_works_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get() -> str:
        """Get."""
        return "got"

    reachable(tmp_path)
    monkeypatch.chdir(tmp_path)
    settings = {"store": {"path": "./state"}, "sandbox": {"isolation": "namespaces"}}
    with BlockingRuntime(Config.model_validate(settings), tools={"t.get": get}) as runtime:
        monkeypatch.chdir("/")
        code = "from servers import t\nopen('file', 'a').write('x')\n(t.get(), open('file').read())"
        assert [runtime.execute(code, session="s").result for _ in range(2)] == [["got", "x"], ["got", "xx"]]
        assert runtime.execute(code).result == ["got", "x"]
    assert sorted(os.listdir(tmp_path)) == ["state"]


@pytest.mark.requirement("T74")
def test_a_sandbox_that_cannot_be_made_names_no_folder_of_the_host(tmp_path: Path) -> None:
    with opened(tmp_path, "namespaces") as wall:
        wall.run("1", session="first")
        workspaces = Path(wall.runtime._opened_runtime()._rooms.session_stores.workspaces.root)  # pyright: ignore[reportPrivateUsage]
        hidden = workspaces.rename(workspaces.with_name("elsewhere"))
        try:
            workspaces.write_text("not a folder")
            with pytest.raises(StoreUnavailable, match="workspace") as caught:
                wall.run("1", session="second")
        finally:
            workspaces.unlink()
            hidden.rename(workspaces)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
