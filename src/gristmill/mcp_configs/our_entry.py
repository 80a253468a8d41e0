"""Gristmill's entry in a client's configuration: the command that starts it, in that client's own format."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from msgspec import Struct

from gristmill.mcp_configs.client_places import McpClient, Scope
from gristmill.mcp_configs.read_servers import is_gristmill

ENTRY_NAME = "gristmill"
GOOSE_SECONDS = 300

WORKSPACE_CONFIG = "${workspaceFolder}/gristmill.toml"
"""Cursor and VS Code fill in the variable; the other clients start servers in the project's folder."""


class StartCommand(Struct, frozen=True, kw_only=True):
    """The command that starts Gristmill."""

    program: str
    args: tuple[str, ...] = ("serve",)


def build_command(*, executable: Path | None, config: Path | None, client: McpClient, scope: Scope) -> StartCommand:
    """Builds the command: by ``executable``, or by ``uvx`` without one.

    A user's client starts it in any folder, so all paths are absolute; a project's file travels with the project, so none is.
    """
    if scope == "user":
        args = ("serve", *(("--config", str(config)) if config else ()))
        return (
            StartCommand(program=str(executable), args=args)
            if executable
            else StartCommand(program="uvx", args=(ENTRY_NAME, *args))
        )
    args = ("serve", "--config", WORKSPACE_CONFIG) if client.name in ("cursor", "vscode") else ("serve",)
    return StartCommand(program=ENTRY_NAME, args=args) if executable else StartCommand(program="uvx", args=(ENTRY_NAME, *args))


def build_entry(client: McpClient, command: StartCommand) -> dict[str, Any]:
    """Builds the entry for ``client``."""
    plain: dict[str, Any] = {"command": command.program, "args": list(command.args)}
    if client.name == "claude-code":
        # Claude Code loads tools only when its search finds them; Gristmill has only two, which should be there from the start.
        return {"type": "stdio", **plain, "alwaysLoad": True}
    if client.name == "vscode":
        return {"type": "stdio", **plain}
    if client.name == "zed":
        return {**plain, "env": {}}
    if client.name == "goose":
        return {
            "enabled": True, "type": "stdio", "name": ENTRY_NAME, "description": "Tools through code", "cmd": command.program,
            "args": list(command.args), "envs": {}, "env_keys": [], "timeout": GOOSE_SECONDS,
        }  # fmt: skip
    return plain


def starts_gristmill(value: Any) -> bool:
    """Returns whether an entry of a client starts Gristmill."""
    if not isinstance(value, Mapping):
        return False
    words: list[Any] = [value.get("command") or value.get("cmd") or "", *(value.get("args") or ())]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return any(isinstance(word, str) and is_gristmill(word) for word in words)


def is_temporary(executable: PurePath) -> bool:
    """Returns whether a program lies where `uvx` and `pipx run` keep temporary environments."""
    parts = executable.parts
    return "archive-v0" in parts or "environments-v2" in parts or ("pipx" in parts and ".cache" in parts)
