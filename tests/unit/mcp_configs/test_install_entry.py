"""Our entry in a client's file, there and back."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from gristmill.config.atomic_write import resolve_file, write_file_atomically
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs.client_places import Machine, McpClient, list_clients
from gristmill.mcp_configs.install_entry import apply_install, apply_removal, find_backups, plan_install, plan_removal
from gristmill.mcp_configs.our_entry import StartCommand, build_command, build_entry, is_temporary
from gristmill.mcp_configs.replaced_entries import name_record

OURS = StartCommand(program="/opt/bin/gristmill", args=("serve", "--config", "/home/ann/gristmill.toml"))
PLAIN = {"command": OURS.program, "args": list(OURS.args)}
SHAPES: dict[str, dict[str, Any]] = {
    "claude-desktop": PLAIN,
    "claude-code": {"type": "stdio", **PLAIN, "alwaysLoad": True},
    "cursor": PLAIN,
    "vscode": {"type": "stdio", **PLAIN},
    "windsurf": PLAIN,
    "codex": PLAIN,
    "gemini-cli": PLAIN,
    "zed": {**PLAIN, "env": {}},
    "goose": {
        "enabled": True, "type": "stdio", "name": "gristmill", "description": "Tools through code", "cmd": OURS.program,
        "args": list(OURS.args), "envs": {}, "env_keys": [], "timeout": 300,
    },
}  # fmt: skip
BEFORE = {
    ".json": '{\n  "theme": "dark", // mine\n  "KEY": {\n    "time": {"command": "uvx", "args": ["mcp-server-time"]}\n  }\n}',
    ".toml": 'model = "x" # mine\n\n[mcp_servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n',
    ".yaml": "model: x # mine\nextensions:\n  time:\n    type: stdio\n    cmd: uvx\n    args: [mcp-server-time]\n",
}


def client_of(name: str, folder: Path) -> McpClient:
    return list_clients(Machine(home=folder, cwd=folder))[name]


def put(client: McpClient, file: Path, **options: Any) -> None:
    apply_install(plan_install(client, file, build_entry(client, OURS), **options))


def read(client: McpClient, file: Path) -> dict[str, Any]:
    text = file.read_text()
    if file.suffix == ".toml":
        return tomllib.loads(text)[client.key]
    found: Any = yaml.safe_load(text) if file.suffix == ".yaml" else json.loads(text.replace(" // mine", ""))
    return found[client.key]


def existing(client: McpClient) -> bytes:
    client.user.parent.mkdir(parents=True, exist_ok=True)
    client.user.write_bytes(BEFORE[client.user.suffix].replace("KEY", client.key).encode())
    return client.user.read_bytes()


@pytest.mark.parametrize("name", SHAPES)
def test_the_entry_has_the_clients_own_shape_and_goes_without_a_trace(name: str, tmp_path: Path) -> None:
    client = client_of(name, tmp_path)
    before = existing(client)
    put(client, client.user)
    assert read(client, client.user)["gristmill"] == SHAPES[name]
    assert [file.read_bytes() for file in find_backups(client.user)] == [before]
    apply_removal(plan_removal(client, client.user))
    assert (client.user.read_bytes(), find_backups(client.user)) == (before, ())


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_that_we_made_goes_again(name: str, tmp_path: Path) -> None:
    client = client_of(name, tmp_path)
    put(client, client.user)
    assert read(client, client.user) == {"gristmill": SHAPES[name]}
    apply_removal(plan_removal(client, client.user))
    assert not client.user.exists()


@pytest.mark.parametrize("name", SHAPES)
def test_when_something_else_changed_only_our_entry_goes(name: str, tmp_path: Path) -> None:
    client = client_of(name, tmp_path)
    existing(client)
    put(client, client.user)
    client.user.write_text(client.user.read_text().replace("mcp-server-time", "other"))
    apply_removal(plan_removal(client, client.user))
    assert client.user.read_text() == BEFORE[client.user.suffix].replace("KEY", client.key).replace("mcp-server-time", "other")
    assert len(find_backups(client.user)) == 1


def test_installing_twice_changes_nothing_and_a_new_command_keeps_the_first_backup(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    before = existing(client)
    put(client, client.user)
    again = plan_install(client, client.user, build_entry(client, OURS))
    assert (again.before == again.after, again.diff) == (True, "")
    apply_install(
        plan_install(client, client.user, build_entry(client, StartCommand(program="uvx", args=("gristmill", "serve"))))
    )
    assert [file.read_bytes() for file in find_backups(client.user)] == [before]
    apply_removal(plan_removal(client, client.user))
    assert client.user.read_bytes() == before


def test_servers_that_are_served_through_us_go_when_asked(tmp_path: Path) -> None:
    client = client_of("claude-code", tmp_path)
    before = existing(client)
    served = {"clock": ServerConfig(command="uvx", args=("mcp-server-time",))}
    put(client, client.user, served=served)
    assert list(read(client, client.user)) == ["gristmill"]
    apply_removal(plan_removal(client, client.user))
    assert client.user.read_bytes() == before


def test_rights_and_links_are_kept(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    existing(client)
    kept = tmp_path / "dotfiles.json"
    os.replace(client.user, kept)
    kept.chmod(0o640)
    client.user.symlink_to(kept)
    put(client, resolve_file(client.user))
    assert (client.user.is_symlink(), kept.stat().st_mode & 0o777, "gristmill" in kept.read_text()) == (True, 0o640, True)


def test_a_file_with_a_mark_of_its_encoding_keeps_it(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    existing(client)
    client.user.write_bytes(b"\xef\xbb\xbf" + client.user.read_bytes())
    put(client, client.user)
    assert client.user.read_bytes().startswith(b"\xef\xbb\xbf{")


@pytest.mark.parametrize(
    "text", ['{"mcpServers": {"gristmill": {"command": "something-else"}}}', "{ broken", '{"mcpServers": []}', "\xff"]
)
def test_what_cannot_be_edited_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    client.user.parent.mkdir()
    client.user.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError):
        plan_install(client, client.user, build_entry(client, OURS))
    assert client.user.read_bytes() == text.encode("latin-1")


def test_a_draft_that_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text("old")

    def refuse(_draft: Path) -> None:
        raise ConfigError("no")

    with pytest.raises(ConfigError):
        write_file_atomically(file, b"new", check=refuse)
    assert ([each.name for each in tmp_path.iterdir()], file.read_text()) == (["gristmill.toml"], "old")


def test_a_project_cannot_make_us_write_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "victim.json").write_text("{}")
    (tmp_path / "project" / ".mcp.json").symlink_to(tmp_path / "victim.json")
    with pytest.raises(ConfigError, match="link out of"):
        resolve_file(tmp_path / "project" / ".mcp.json", within=tmp_path / "project")


def test_commands_of_the_user_are_absolute_and_those_of_a_project_travel(tmp_path: Path) -> None:
    program, config = Path("/opt/bin/gristmill"), Path("/home/ann/gristmill.toml")
    found = {
        (name, scope, bool(executable)): build_command(
            executable=executable, config=config, client=client_of(name, tmp_path), scope=scope
        )
        for name in ("claude-code", "cursor")
        for scope in ("user", "project")
        for executable in (program, None)
    }
    absolute = ("serve", "--config", str(config))
    assert found["claude-code", "user", True] == StartCommand(program=str(program), args=absolute)
    assert found["claude-code", "user", False] == StartCommand(program="uvx", args=("gristmill", *absolute))
    assert found["claude-code", "project", True] == StartCommand(program="gristmill", args=("serve",))
    workspace = ("serve", "--config", "${workspaceFolder}/gristmill.toml")
    assert found["cursor", "project", False] == StartCommand(program="uvx", args=("gristmill", *workspace))


def test_a_program_that_uvx_may_throw_away_is_not_written_down() -> None:
    assert is_temporary(Path("/home/ann/.cache/uv/archive-v0/abc/bin/gristmill"))
    assert not is_temporary(Path("/home/ann/.local/share/uv/tools/gristmill/bin/gristmill"))


def rewrite(client: McpClient) -> None:
    """Writes the file again as its client does: other spacing, no comments, and a setting of its own."""
    text = client.user.read_text()
    if client.user.suffix == ".toml":
        client.user.write_text(tomlkit.dumps({**tomllib.loads(text), "runs": 2}))
    elif client.user.suffix == ".yaml":
        client.user.write_text(yaml.safe_dump({**yaml.safe_load(text), "runs": 2}))
    else:
        client.user.write_text(json.dumps({**json.loads(text.replace(" // mine", "")), "runs": 2}))


@pytest.mark.parametrize("name", SHAPES)
def test_servers_that_we_replaced_come_back_after_the_client_has_rewritten_its_file(name: str, tmp_path: Path) -> None:
    client = client_of(name, tmp_path)
    existing(client)
    before = read(client, client.user)
    put(client, client.user, served={"clock": ServerConfig(command="uvx", args=("mcp-server-time",))})
    assert list(read(client, client.user)) == ["gristmill"]
    rewrite(client)
    removal = plan_removal(client, client.user)
    apply_removal(removal)
    assert (read(client, client.user), removal.restored) == (before, ("time",))
    assert "runs" in client.user.read_text()
    assert not name_record(client.user).exists()
    assert plan_removal(client, client.user).restored == ()


def test_two_installations_and_a_rewrite_between_them_lose_no_server(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    servers = {"time": {"command": "uvx", "args": ["mcp-server-time"]}, "files": {"command": "npx", "args": ["-y", "files", "/"]}}
    client.user.parent.mkdir(parents=True)
    client.user.write_text(json.dumps({"mcpServers": servers}))
    put(client, client.user, served={"time": ServerConfig(command="uvx", args=("mcp-server-time",))})
    rewrite(client)
    put(client, client.user, served={"files": ServerConfig(command="/usr/bin/npx", args=("files@latest", "/"))})
    assert list(read(client, client.user)) == ["gristmill"]
    rewrite(client)
    apply_removal(plan_removal(client, client.user))
    assert read(client, client.user) == servers


def test_servers_come_back_though_the_client_threw_our_entry_away(tmp_path: Path) -> None:
    client = client_of("claude-code", tmp_path)
    existing(client)
    put(client, client.user, served={"clock": ServerConfig(command="uvx", args=("mcp-server-time",))})
    client.user.write_text('{"mcpServers": {}}')
    apply_removal(plan_removal(client, client.user))
    assert list(read(client, client.user)) == ["time"]


def test_an_entry_that_is_there_again_is_left_as_it_is(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    existing(client)
    put(client, client.user, served={"clock": ServerConfig(command="uvx", args=("mcp-server-time",))})
    mine = {"command": "my-time"}
    client.user.write_text(json.dumps({"mcpServers": {"time": mine, "gristmill": PLAIN}}))
    apply_removal(plan_removal(client, client.user))
    assert read(client, client.user) == {"time": mine}


def test_a_damaged_record_is_reported_and_nothing_is_changed(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    existing(client)
    put(client, client.user, served={"clock": ServerConfig(command="uvx", args=("mcp-server-time",))})
    name_record(client.user).write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        plan_removal(client, client.user)


def test_what_is_shown_holds_no_secret(tmp_path: Path) -> None:
    client = client_of("cursor", tmp_path)
    client.user.parent.mkdir(parents=True)
    entries = {
        "crm": {"url": "https://crm.example/mcp?token=in-the-address-1", "headers": {"Authorization": "Bearer in-a-header-22"}},
        "tool": {"command": "tool", "args": ["--api-key", "in-an-argument", "x"], "env": {"DB_PASSWORD": 'in-the"environment'}},
    }
    client.user.write_text(json.dumps({"mcpServers": entries}, indent=2))
    diff = plan_install(client, client.user, build_entry(client, OURS), served={"t": ServerConfig(command="tool")}).diff
    whole = plan_install(
        client,
        client.user,
        build_entry(client, OURS),
        served={"t": ServerConfig(command="tool", args=("--api-key", "${env:K}", "x"))},
    )
    assert whole.replaced == ("tool",)
    for secret in ("in-the-address-1", "in-a-header-22", "in-an-argument", "environment", "in-the"):
        assert secret not in diff + whole.diff
    assert "<hidden>" in whole.diff
