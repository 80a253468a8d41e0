"""What doctor says about things that are not well."""

from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.serve.cli.verbs.setup.doctor_checks import check_config, check_state, suggest_fix


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("the environment variable CRM_KEY is not set", "export CRM_KEY=..."),
        ("the command 'uvx' is not installed or not on PATH", "install it"),
        ("crm wants a login: run gristmill login crm", "run `gristmill login crm`"),
        ("crm was not ready within 30 s", "connect_seconds"),
        ("a riddle", "by hand"),
        (None, "--wait"),
    ],
)
def test_every_error_comes_with_something_to_do(error: str | None, words: str) -> None:
    assert words in suggest_fix(error, 30)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("crm cannot be reached: connection refused", "`url`"),
        ("crm closed the connection: ConnectError [Errno -2] Name or service not known", "check the name in its `url`"),
        ("crm closed the connection: HTTP 404", "the path of its `url`"),
        ("crm closed the connection: ProxyError the proxy p:1 does not connect", "HTTPS_PROXY"),
        ("crm was not ready within 30 s", "is running"),
        ("a riddle", "check its address"),
        (None, "check its address"),
    ],
)
def test_a_server_at_an_address_is_not_to_be_started_by_hand(error: str | None, words: str) -> None:
    fix = suggest_fix(error, 30, "http")
    assert words in fix
    assert "by hand" not in fix


def test_a_configuration_that_cannot_be_used_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "gristmill.toml").write_text("[sandbx]\n")
    finding, settings = check_config(tmp_path / "gristmill.toml")
    assert (finding.ok, settings, "did you mean sandbox" in finding.seen) == (False, None, True)


def test_a_state_folder_that_cannot_be_made_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    finding = check_state(Config(store=StoreConfig(path=tmp_path / "file" / "state")))
    assert (finding.ok, "[store]" in (finding.fix or "")) == (False, True)


def test_the_configuration_of_the_user_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, project = tmp_path / "own.toml", tmp_path / "project.toml"
    own.write_text("[servers.a]\ncommand = 'x'\n")
    monkeypatch.setenv("GRISTMILL_USER_CONFIG", str(own))
    monkeypatch.chdir(tmp_path)
    assert check_config(None)[0].seen == f"{own}: 1 servers"
    project.write_text("[servers.b]\ncommand = 'x'\n")
    assert check_config(project)[0].seen == f"{project} over {own}: 2 servers"
