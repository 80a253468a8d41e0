"""The `servers` section: what a server may be, and that no secret can stand in it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gristmill.config.sections.servers_section import ServerConfig, looks_secret
from gristmill.config.tree import load_config
from gristmill.errors import ConfigError

FILE = """
[servers.github]
command = "github-mcp"
args = ["--read-only"]
env = { GITHUB_TOKEN = "${env:GITHUB_TOKEN}" }

[servers.crm]
url = "https://crm.example/mcp"
headers = { Authorization = "Bearer ${keyring:crm/token}" }
call_seconds = 5
"""


def test_servers_come_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text(FILE)
    servers = load_config(file).servers
    assert servers == {
        "github": ServerConfig(command="github-mcp", args=("--read-only",), env={"GITHUB_TOKEN": "${env:GITHUB_TOKEN}"}),
        "crm": ServerConfig(
            url="https://crm.example/mcp",
            headers={"Authorization": "Bearer ${keyring:crm/token}"},
            call_seconds=5,
        ),
    }
    assert [server.kind for server in servers.values()] == ["stdio", "http"]


def test_a_clients_own_file_is_taken_as_servers(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}')
    assert load_config(file).servers == {"time": ServerConfig(command="uvx", args=("mcp-server-time",))}


def test_a_clients_file_with_a_plain_secret_is_not_started_and_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"gh": {"command": "x", "env": {"GH_TOKEN": "ghp_abcdef"}}}}')
    with pytest.raises(ConfigError, match="write a reference such as") as caught:
        load_config(file)
    assert "ghp_abcdef" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a.b", "1st", "a b", "x" * 65, "skills", "gristmill"])
def test_a_name_that_could_not_stand_in_a_key_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text(f'[servers."{name}"]\ncommand = "x"\n')
    with pytest.raises(ConfigError):
        load_config(file)


@pytest.mark.parametrize("values", [{}, {"command": "x", "url": "http://y"}, {"python": "a", "openapi": "b"}])
def test_a_server_is_exactly_one_thing(values: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="exactly one"):
        ServerConfig.model_validate(values)


@pytest.mark.parametrize(
    "values",
    [
        {"command": "x", "env": {"API_KEY": "abc123"}},
        {"command": "x", "env": {"DATABASE": "postgres://ann:hunter2@db/x"}},
        {"command": "x", "args": ["postgres://ann:hunter2@db/x"]},
        {"url": "https://x", "headers": {"authorization": "Bearer abc"}},
        {"url": "https://ann:hunter2@x/mcp"},
        {"url": "https://x", "oauth": {"client_secret": "abc"}},
    ],
)
def test_a_secret_in_plain_text_is_refused_and_not_quoted(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="plain text") as caught:
        ServerConfig.model_validate(values)
    assert "hunter2" not in str(caught.value)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("env.LOG_LEVEL", "debug"),
        ("env.API_KEY", "${env:KEY}"),
        ("headers.Authorization", "Bearer ${keyring:a/b}"),
        ("env.TOKEN_FILE", "/run/secrets/token"),
        ("env.PASSWORD", ""),
        ("args", "postgres://ann:${env:PW}@db/x"),
    ],
)
def test_what_is_no_secret_passes(key: str, value: str) -> None:
    assert not looks_secret(key, value)
