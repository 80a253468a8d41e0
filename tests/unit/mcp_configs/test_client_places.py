"""Where each client keeps its servers, on each operating system."""

from pathlib import Path

import pytest

from gristmill.mcp_configs.client_places import Machine, Platform, list_clients
from gristmill.serve.cli.verbs.setup.install import CLIENTS

HOME, HERE = Path("/home/ann"), Path("/project")


def user_files(platform: Platform, **environ: str) -> dict[str, str]:
    machine = Machine(home=HOME, cwd=HERE, platform=platform, environ=environ)
    return {name: client.user.as_posix() for name, client in list_clients(machine).items()}


@pytest.mark.parametrize(
    ("platform", "desktop", "code", "zed", "goose"),
    [
        ("linux", ".config/Claude", ".config/Code/User", ".config/zed", ".config/goose"),
        ("mac", "Library/Application Support/Claude", "Library/Application Support/Code/User", ".config/zed", ".config/goose"),
        ("windows", "AppData/Roaming/Claude", "AppData/Roaming/Code/User", "AppData/Roaming/Zed", "AppData/Roaming/Block/goose/config"),
    ],
)  # fmt: skip
def test_files_of_the_user(platform: Platform, desktop: str, code: str, zed: str, goose: str) -> None:
    assert user_files(platform) == {
        "claude-desktop": f"/home/ann/{desktop}/claude_desktop_config.json",
        "claude-code": "/home/ann/.claude.json",
        "cursor": "/home/ann/.cursor/mcp.json",
        "vscode": f"/home/ann/{code}/mcp.json",
        "windsurf": "/home/ann/.codeium/windsurf/mcp_config.json",
        "codex": "/home/ann/.codex/config.toml",
        "gemini-cli": "/home/ann/.gemini/settings.json",
        "zed": f"/home/ann/{zed}/settings.json",
        "goose": f"/home/ann/{goose}/config.yaml",
    }


def test_folders_that_were_moved_are_followed() -> None:
    found = user_files("linux", XDG_CONFIG_HOME="/x", CODEX_HOME="/c")
    assert (found["zed"], found["codex"]) == ("/x/zed/settings.json", "/c/config.toml")
    assert user_files("windows", APPDATA="/a")["claude-desktop"] == "/a/Claude/claude_desktop_config.json"


def test_files_of_a_project() -> None:
    found = list_clients(Machine(home=HOME, cwd=HERE))
    assert {name: client.project and client.project.as_posix() for name, client in found.items()} == {
        "claude-desktop": None,
        "claude-code": "/project/.mcp.json",
        "cursor": "/project/.cursor/mcp.json",
        "vscode": "/project/.vscode/mcp.json",
        "windsurf": None,
        "codex": None,
        "gemini-cli": "/project/.gemini/settings.json",
        "zed": "/project/.zed/settings.json",
        "goose": None,
    }


def test_the_command_line_knows_the_same_clients() -> None:
    assert tuple(list_clients(Machine(home=HOME, cwd=HERE))) == CLIENTS
