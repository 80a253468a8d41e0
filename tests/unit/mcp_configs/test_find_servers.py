"""The servers of all clients together: the same one once, others of the same name apart, secrets never in the values."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gristmill.mcp_configs.client_places import Machine
from gristmill.mcp_configs.find_servers import survey_servers
from gristmill.mcp_configs.merge_servers import merge_servers
from gristmill.mcp_configs.read_servers import ImportedServers


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work").mkdir()
    return Machine(home=tmp_path / "home", cwd=tmp_path / "work", environ={"XDG_CONFIG_HOME": str(tmp_path / "home/.config")})


def write(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


TIME = {"command": "uvx", "args": ["mcp-server-time"]}


def test_a_server_of_several_clients_is_one_server(machine: Machine) -> None:
    write(machine.home / ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    write(machine.home / ".codeium/windsurf/mcp_config.json", {"mcpServers": {"time": TIME}})
    write(machine.cwd / ".vscode/mcp.json", {"servers": {"time": {"type": "stdio", **TIME}}})
    found = survey_servers(machine)
    assert [(each.name, each.clients, each.scopes) for each in found.servers] == [
        ("time", ("cursor", "vscode", "windsurf"), ("user", "project"))
    ]


def test_other_servers_of_the_same_name_stay_apart_with_their_own_secrets(machine: Machine, tmp_path: Path) -> None:
    for client, secret in ((".cursor/mcp.json", "first"), (".gemini/settings.json", "second")):
        write(machine.home / client, {"mcpServers": {"crm": {**TIME, "env": {"API_KEY": secret}}}})
    found = survey_servers(machine)
    assert [each.name for each in found.servers] == ["crm", "crm_gemini_cli"]
    assert [each.secrets[0].value for each in found.servers] == ["first", "second"]
    target = tmp_path / "gristmill.toml"
    done = merge_servers(found.pick(frozenset({"crm", "crm_gemini_cli"})), target)
    assert [each.reference for each in done.secrets] == ["${env:API_KEY}", "${env:CRM_GEMINI_CLI_API_KEY}"]
    assert "first" not in target.read_text() + repr(found)
    assert merge_servers(found.pick(frozenset({"crm", "crm_gemini_cli"})), target, replace=True).diff == ""


def test_claude_codes_servers_for_this_folder_are_the_users_own(machine: Machine) -> None:
    projects = {str(machine.cwd): {"mcpServers": {"here": TIME}}, "/elsewhere": {"mcpServers": {"there": TIME}}}
    write(machine.home / ".claude.json", {"projects": projects})
    assert [(each.name, each.scopes) for each in survey_servers(machine).servers] == [("here", ("user",))]


def test_gooses_own_variables_become_references_and_its_extensions_are_left_out(machine: Machine) -> None:
    config = (
        "extensions:\n  dev: {type: builtin, enabled: true}\n  mem: {type: stdio, cmd: npx, args: [mem], env_keys: [MEM_TOKEN]}\n"
    )
    write(machine.xdg / "goose/config.yaml", config)
    found = survey_servers(machine)
    assert [(each.name, each.config.env) for each in found.servers] == [("mem", {"MEM_TOKEN": "${env:MEM_TOKEN}"})]
    assert found.skipped == ("dev: a built-in extension of that client (builtin) (Goose)",)


def test_a_broken_file_does_not_hide_the_others(machine: Machine) -> None:
    write(machine.home / ".cursor/mcp.json", "{ broken, secret-text")
    write(machine.home / ".gemini/settings.json", {"theme": "dark"})
    write(machine.home / ".codex/config.toml", '[mcp_servers.time]\ncommand = "uvx"\n')
    found = survey_servers(machine)
    assert [(file.client, file.servers, bool(file.problem)) for file in found.files] == [
        ("cursor", 0, True), ("codex", 1, False), ("gemini-cli", 0, False),
    ]  # fmt: skip
    assert "secret-text" not in repr(found)


def test_a_projects_file_that_leads_out_of_it_is_not_read(machine: Machine) -> None:
    write(machine.home / "private.json", {"mcpServers": {"x": TIME}})
    (machine.cwd / ".mcp.json").symlink_to(machine.home / "private.json")
    found = survey_servers(machine)
    assert (found.servers, "link out of" in (found.files[0].problem or "")) == ((), True)


def test_servers_that_are_spelled_differently_are_one(machine: Machine) -> None:
    write(machine.home / ".claude.json", {"mcpServers": {"files": {"command": "npx", "args": ["-y", "files", "/data"]}}})
    write(
        machine.home / ".cursor/mcp.json",
        {
            "mcpServers": {
                "Files": {"command": "/usr/bin/npx", "args": ["files@latest", "/data/"]},
                "docs": {"url": "https://h/mcp/"},
            }
        },
    )
    write(machine.home / ".gemini/settings.json", {"mcpServers": {"manual": {"httpUrl": "https://h/mcp"}}})
    found = survey_servers(machine)
    assert [(each.name, each.clients) for each in found.servers] == [
        ("files", ("claude-code", "cursor")), ("docs", ("cursor", "gemini-cli")),
    ]  # fmt: skip
    assert found.notes == (
        "Files is the same server as files of claude-code: it was taken once (Cursor)",
        "manual is the same server as docs of cursor: it was taken once (Gemini CLI)",
    )


def test_another_account_of_the_same_program_is_another_server(machine: Machine) -> None:
    for client, key in (
        (".cursor/mcp.json", "one"),
        (".gemini/settings.json", "two"),
        (".codeium/windsurf/mcp_config.json", "one"),
    ):
        write(machine.home / client, {"mcpServers": {"crm": {**TIME, "args": ["--api-key", key]}}})
    assert [each.clients for each in survey_servers(machine).servers] == [("cursor", "windsurf"), ("gemini-cli",)]


def test_a_projects_spelling_never_replaces_the_users_program(machine: Machine) -> None:
    write(machine.cwd / ".mcp.json", {"mcpServers": {"files": {"command": "./npx", "args": ["-y", "files"]}}})
    write(machine.home / ".cursor/mcp.json", {"mcpServers": {"files": {"command": "npx", "args": ["files"]}}})
    (server,) = survey_servers(machine).servers
    assert (server.config.command, server.scopes) == ("npx", ("project", "user"))


def test_names_that_differ_only_in_case_stay_apart(machine: Machine) -> None:
    write(machine.home / ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    write(machine.home / ".gemini/settings.json", {"mcpServers": {"Time": {"command": "other"}}})
    assert [each.name for each in survey_servers(machine).servers] == ["time", "Time_gemini_cli"]


def test_settings_are_added_to_a_file_and_replace_nothing(tmp_path: Path) -> None:
    target = tmp_path / "gristmill.toml"
    target.write_text('[mask]\nmode = "off"\n\n[policy]\nallow = ["a.b"]  # mine\n')
    settings = {"mask": {"mode": "full"}, "policy": {"allow": ["a.b", "c.d"]}, "sandbox": {"packages": ["pandas"]}}
    merge_servers(ImportedServers(servers={}), target, settings=settings)
    assert tomllib.loads(target.read_text()) == {
        "mask": {"mode": "off"}, "policy": {"allow": ["a.b", "c.d"]}, "sandbox": {"packages": ["pandas"]},
    }  # fmt: skip
    assert "# mine" in target.read_text()
    assert merge_servers(ImportedServers(servers={}), target, settings=settings).diff == ""
