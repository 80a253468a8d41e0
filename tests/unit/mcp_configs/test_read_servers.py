"""Every client's way of writing its servers becomes ours."""

import json
from typing import Any

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs.read_servers import MovedSecret, read_client_config

STDIO = ServerConfig(command="npx", args=("-y", "pkg"), env={"LEVEL": "${env:LEVEL}"})
HTTP = ServerConfig(url="https://x.example/mcp", headers={"X-Team": "${env:TEAM}"})

_LOCAL = {"command": "npx", "args": ["-y", "pkg"]}
CLIENTS: dict[str, tuple[str, str]] = {
    "claude desktop": (
        "claude_desktop_config.json",
        json.dumps({"mcpServers": {"a": {**_LOCAL, "env": {"LEVEL": "${LEVEL}"}}}}),
    ),
    "claude code": (
        ".mcp.json",
        json.dumps(
            {
                "mcpServers": {
                    "a": {"type": "stdio", **_LOCAL, "env": {"LEVEL": "${LEVEL}"}},
                    "b": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-Team": "${TEAM}"}},
                }
            }
        ),
    ),
    "cursor": (
        "mcp.json",
        json.dumps(
            {
                "mcpServers": {
                    "a": {**_LOCAL, "env": {"LEVEL": "${env:LEVEL}"}},
                    "b": {"url": "https://x.example/mcp", "headers": {"X-Team": "${env:TEAM}"}},
                }
            }
        ),
    ),
    "vs code": (
        "mcp.json",
        """{
          // servers of this project
          "servers": {
            "a": {"type": "stdio", "command": "npx", "args": ["-y", "pkg"], "env": {"LEVEL": "${env:LEVEL}"},},
            "b": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-Team": "${env:TEAM}"}},
          },
        }""",
    ),
    "windsurf": (
        "mcp_config.json",
        json.dumps(
            {
                "mcpServers": {
                    "a": {**_LOCAL, "env": {"LEVEL": "${env:LEVEL}"}},
                    "b": {"serverUrl": "https://x.example/mcp", "headers": {"X-Team": "${env:TEAM}"}},
                }
            }
        ),
    ),
    "codex": (
        "config.toml",
        """
        model = "o9"
        [mcp_servers.a]
        command = "npx"
        args = ["-y", "pkg"]
        env_vars = ["LEVEL"]
        [mcp_servers.b]
        url = "https://x.example/mcp"
        env_http_headers = { X-Team = "TEAM" }
        """,
    ),
    "gemini": (
        "settings.json",
        json.dumps(
            {
                "theme": "dark",
                "mcpServers": {
                    "a": {**_LOCAL, "env": {"LEVEL": "$LEVEL"}},
                    "b": {"httpUrl": "https://x.example/mcp", "headers": {"X-Team": "$TEAM"}},
                },
            }
        ),
    ),
    "zed": (
        "settings.json",
        """{
          "context_servers": {
            "a": {"command": {"path": "npx", "args": ["-y", "pkg"], "env": {"LEVEL": "$LEVEL"}}, "settings": {}},
            "b": {"url": "https://x.example/mcp", "headers": {"X-Team": "$TEAM"}}, // remote
          }
        }""",
    ),
    "goose": (
        "config.yaml",
        """
        extensions:
          a: {type: stdio, cmd: npx, args: ["-y", "pkg"], envs: {LEVEL: "${LEVEL}"}, enabled: true}
          b: {type: streamable_http, uri: "https://x.example/mcp", headers: {X-Team: "${TEAM}"}}
          developer: {type: builtin, name: developer, enabled: true}
        """,
    ),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_file_becomes_our_servers(client: str) -> None:
    file, text = CLIENTS[client]
    servers = dict(read_client_config(text, file=file).servers)
    assert servers.pop("a") == STDIO
    assert servers in ({"b": HTTP}, {})


def _read(entry: Any, **more: Any) -> Any:
    return read_client_config(json.dumps({"mcpServers": {"a": entry, **more}}))


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "gristmill", "args": ["serve"]},
        {"command": "uvx", "args": ["gristmill@latest", "serve"]},
        {"command": "/opt/venv/bin/gristmill"},
        {"command": "uvx", "args": ["--from", "gristmill==0.1", "gristmill"]},
    ],
)
def test_our_own_entry_is_never_imported(entry: dict[str, Any]) -> None:
    found = _read(entry)
    assert not found.servers
    assert found.skipped == ("a: this is Gristmill itself",)


def test_a_secret_in_plain_text_moves_to_the_keyring() -> None:
    found = _read({"command": "x", "env": {"GH_TOKEN": "ghp_1"}, "args": ["postgres://u:pw@h/d"]})
    assert found.servers["a"].env == {"GH_TOKEN": "${keyring:gristmill/a.env.GH_TOKEN}"}
    assert found.servers["a"].args == ("${keyring:gristmill/a.args.0}",)
    assert found.secrets == (
        MovedSecret(service="gristmill", name="a.env.GH_TOKEN", value="ghp_1"),
        MovedSecret(service="gristmill", name="a.args.0", value="postgres://u:pw@h/d"),
    )
    assert "ghp_1" not in repr(found)


def test_what_only_that_client_can_fill_in_is_skipped_with_a_reason() -> None:
    found = _read({"url": "https://x", "headers": {"Authorization": "Bearer ${input:token}"}})
    assert "${input:token}" in found.skipped[0]


def test_one_bad_entry_does_not_spoil_the_others() -> None:
    found = _read({"args": []}, b=7, c={"command": "ok"})
    assert list(found.servers) == ["c"]
    assert len(found.skipped) == 2


def test_names_become_ours_without_clashing() -> None:
    found = read_client_config(json.dumps({"mcpServers": {n: {"command": "x"} for n in ("a b", "a.b", "1", "skills", "")}}))
    assert list(found.servers) == ["a_b", "a_b_2", "s_1", "skills_server", "server"]


def test_details_of_clients_are_kept() -> None:
    found = _read(
        {"url": "https://x/sse", "oauth": {"clientId": "z"}, "disabled": True},
        b={"command": "x", "includeTools": ["get_*"], "excludeTools": ["get_all"], "trust": True},
        c={"url": "https://y", "bearer_token_env_var": "TOK", "tool_timeout_sec": 9, "startup_timeout_sec": 3},
    )
    assert found.servers["a"].transport == "sse"
    assert found.servers["a"].oauth is not None
    assert not found.servers["a"].enabled
    assert (found.servers["b"].include, found.servers["b"].exclude) == (("get_*",), ("get_all",))
    assert found.servers["c"].headers == {"Authorization": "Bearer ${env:TOK}"}
    assert (found.servers["c"].call_seconds, found.servers["c"].connect_seconds) == (9, 3)


def test_the_list_of_one_project_can_be_added() -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}}})
    assert list(read_client_config(text, project="/p").servers) == ["a", "b"]
    assert list(read_client_config(text).servers) == ["a"]


@pytest.mark.parametrize(
    ("file", "text"), [("a.json", "{"), ("a.json", "[]"), ("a.json", "{}"), ("a.toml", "="), ("a.yaml", "a: [")]
)
def test_what_is_no_server_list_is_an_error(file: str, text: str) -> None:
    with pytest.raises(ConfigError):
        read_client_config(text, file=file)
