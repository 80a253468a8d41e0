"""What stands in a client's configuration for Gristmill: the command that starts it, in that client's own shape."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from gristmill.mcp_configs.client_places import Client, Scope
from gristmill.mcp_configs.read_servers import is_ours
from gristmill.values import dataclass

NAME = "gristmill"
GOOSE_SECONDS = 300

WORKSPACE = "${workspaceFolder}/gristmill.toml"
"""Cursor and VS Code fill this in; the others start servers in the project's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How Gristmill is started."""

    program: str
    args: tuple[str, ...] = ("serve",)


def command(*, executable: Path | None, config: Path | None, client: Client, scope: Scope) -> Command:
    """Our command: by ``executable``, or by ``uvx`` without one.

    A client of the user starts us anywhere, so everything is absolute; a project's file travels with the project, so nothing is.
    """
    if scope == "user":
        args = ("serve", *(("--config", str(config)) if config else ()))
        return Command(program=str(executable), args=args) if executable else Command(program="uvx", args=(NAME, *args))
    args = ("serve", "--config", WORKSPACE) if client.name in ("cursor", "vscode") else ("serve",)
    return Command(program=NAME, args=args) if executable else Command(program="uvx", args=(NAME, *args))


def entry(client: Client, command: Command) -> dict[str, Any]:
    """The entry for ``client``."""
    plain: dict[str, Any] = {"command": command.program, "args": list(command.args)}
    if client.name == "claude-code":
        # It defers the tools of servers and finds them by search; ours are two, and worth having from the start.
        return {"type": "stdio", **plain, "alwaysLoad": True}
    if client.name == "vscode":
        return {"type": "stdio", **plain}
    if client.name == "zed":
        return {**plain, "env": {}}
    if client.name == "goose":
        return {
            "enabled": True, "type": "stdio", "name": NAME, "description": "Tools through code", "cmd": command.program,
            "args": list(command.args), "envs": {}, "env_keys": [], "timeout": GOOSE_SECONDS,
        }  # fmt: skip
    return plain


def starts_us(value: Any) -> bool:
    """Whether an entry of a client starts Gristmill."""
    if not isinstance(value, Mapping):
        return False
    words: list[Any] = [value.get("command") or value.get("cmd") or "", *(value.get("args") or ())]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return any(isinstance(word, str) and is_ours(word) for word in words)


def is_passing(executable: PurePath) -> bool:
    """Whether a program lies where `uvx` and `pipx run` keep what they may throw away."""
    parts = executable.parts
    return "archive-v0" in parts or "environments-v2" in parts or ("pipx" in parts and ".cache" in parts)
