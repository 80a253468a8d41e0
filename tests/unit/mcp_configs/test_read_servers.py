"""Every client's way of writing its servers becomes ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs.merge_servers import import_client_file
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


@pytest.mark.requirement("T77")
@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (["--token", "abc123"], ["--token", "@0"]),
        (["--api-key=abc123", "x"], ["--api-key=@0", "x"]),
        (["--my-brave-api-key", "abc123"], ["--my-brave-api-key", "@0"]),
        (["run", "-e", "GITHUB_TOKEN=abc123", "image"], ["run", "-e", "GITHUB_TOKEN=@0", "image"]),
        (["--header", "Authorization: Bearer abc123"], ["--header", "Authorization: Bearer @0"]),
        (["https://h/?apiKey=abc123&x=1"], ["https://h/?apiKey=@0&x=1"]),
        (["https://h/?a_key=one&token=two"], ["https://h/?a_key=@0&token=@1"]),
        (["ghp_abcdefghijkl1234"], ["@0"]),
        (["-p", "sk-abcdefghijklmnop"], ["-p", "@0"]),
        (["--token", "${env:T}", "--key-file", "/k", "--password", "/run/secrets/p"], None),
        (["--no-token-check", "server.py", "--tokens", "500", "mysecret.py", "--verbose"], None),
        (["--token", "--other", "key=value", "https://h/?q=token", "TOKEN=${env:T}", "--max-tokens=9"], None),
    ],
)
def test_secrets_in_arguments_are_recognised_and_nothing_else_is(args: list[str], kept: list[str] | None) -> None:
    found = _read({"command": "x", "args": args})
    text = json.dumps(found.servers["a"].args)
    for place, secret in enumerate(found.secrets):
        text = text.replace(f"${{keyring:{secret.service}/{secret.name}}}", f"@{place}")
    assert json.loads(text) == (args if kept is None else kept), found.skipped
    assert bool(found.secrets) == (kept is not None)


@pytest.mark.requirement("T77")
def test_secrets_in_an_address_and_under_harmless_names_are_recognised() -> None:
    found = _read(
        {"url": "https://u:pw@h/mcp?tavilyApiKey=tvly-1", "headers": {"X-Who": "ghp_abcdefghijkl1234"}},
        b={"command": "x", "env": {"WHO": "sk-abcdefghijklmnop", "PLAIN": "1"}},
    )
    assert found.servers["a"].url == "https://u:${keyring:gristmill/a.url}@h/mcp?tavilyApiKey=${keyring:gristmill/a.url.2}"
    assert found.servers["a"].headers == {"X-Who": "${keyring:gristmill/a.headers.X-Who}"}
    assert found.servers["b"].env == {"WHO": "${keyring:gristmill/b.env.WHO}", "PLAIN": "1"}
    assert [secret.value for secret in found.secrets] == ["ghp_abcdefghijkl1234", "pw", "tvly-1", "sk-abcdefghijklmnop"]


def test_what_only_that_client_can_fill_in_is_skipped_with_a_reason() -> None:
    found = _read({"url": "https://x", "headers": {"Authorization": "Bearer ${input:token}"}})
    assert "${input:token}" in found.skipped[0]


@pytest.mark.parametrize(
    "word", ["${workspaceFolder}", "${workspaceFolder:web}/data", "${fileDirname}", "--root=${CLAUDE_PLUGIN_ROOT}"]
)
def test_folders_that_only_an_editor_knows_are_named(word: str) -> None:
    found = _read({"command": "x", "args": [word]})
    assert (dict(found.servers), "only that client can fill in" in found.skipped[0]) == ({}, True)


def test_variables_of_editors_that_mean_the_same_everywhere_are_translated() -> None:
    assert _read({"command": "x", "args": ["${userHome}${/}data"]}).servers["a"].args == ("${env:HOME}/data",)


def test_a_header_without_its_credential_is_left_out_and_said() -> None:
    found = _read({"url": "https://x", "headers": {"Authorization": "Bearer ", "X-Team": "a"}})
    assert found.servers["a"].headers == {"X-Team": "a"}
    assert "Authorization held no credential" in found.notes[0]


def test_the_scheme_of_a_credential_stays_in_the_configuration() -> None:
    found = _read({"url": "https://x", "headers": {"Authorization": "Bearer abc123"}})
    assert found.servers["a"].headers == {"Authorization": "Bearer ${keyring:gristmill/a.headers.Authorization}"}
    assert found.secrets[0].value == "abc123"


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


@pytest.mark.requirement("T77")
def test_the_file_of_an_import_holds_no_secret_and_is_the_owners_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "mcp.json", tmp_path / "gristmill.toml"
    args = ["--token", "s3cr3t-one", "--api-key=s3cr3t-two", "-e", "PASS=s3cr3t-three", "postgres://u:s3cr3t-four@h/d"]
    source.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": args}}}))
    done = import_client_file(source, target)
    assert "s3cr3t" not in target.read_text() + done.diff + repr(done.lines())
    assert target.stat().st_mode & 0o777 == 0o600
    assert [secret.reference for secret in done.secrets] == [f"${{env:A_ARGS_{place}}}" for place in (1, 2, 4, 5)]
