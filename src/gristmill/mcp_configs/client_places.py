"""Says where each client keeps its list of servers, per operating system. Reads and writes nothing."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import Struct

Scope = Literal["user", "project"]
Platform = Literal["linux", "mac", "windows"]
_PLATFORMS: dict[str, Platform] = {"darwin": "mac", "win32": "windows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The facts that decide where files are; tests build their own."""

    home: Path
    cwd: Path
    platform: Platform = "linux"
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def this_machine(cls) -> "Machine":
        """Returns the facts of this machine."""
        return cls(home=Path.home(), cwd=Path.cwd(), platform=_PLATFORMS.get(sys.platform, "linux"), environ=dict(os.environ))

    @property
    def xdg(self) -> Path:
        """The folder ``~/.config``, or where the user moved it."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def roaming(self) -> Path:
        """The folder where desktop applications keep their settings."""
        if self.platform == "mac":
            return self.home / "Library" / "Application Support"
        if self.platform == "windows":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.xdg


class McpClient(Struct, frozen=True, kw_only=True):
    """A client: the key of its list of servers, and the files that may contain one."""

    name: str
    title: str
    key: str
    user: Path
    project: Path | None = None
    also: tuple[Path, ...] = ()
    """Further files that are read, never written."""

    def file(self, scope: Scope) -> Path | None:
        """Returns the file of that scope; None if the client has none."""
        return self.user if scope == "user" else self.project


def list_clients(machine: Machine) -> dict[str, McpClient]:
    """Returns every known client by name, with its files on ``machine``."""
    home, here, roaming = machine.home, machine.cwd, machine.roaming
    codex = Path(machine.environ.get("CODEX_HOME") or home / ".codex")
    found = (
        McpClient(
            name="claude-desktop", title="Claude Desktop", key="mcpServers",
            user=roaming / "Claude" / "claude_desktop_config.json",
        ),
        McpClient(
            name="claude-code", title="Claude Code", key="mcpServers", user=home / ".claude.json", project=here / ".mcp.json"
        ),
        McpClient(
            name="cursor", title="Cursor", key="mcpServers", user=home / ".cursor" / "mcp.json",
            project=here / ".cursor" / "mcp.json",
        ),
        McpClient(
            name="vscode", title="VS Code", key="servers", user=roaming / "Code" / "User" / "mcp.json",
            project=here / ".vscode" / "mcp.json",
        ),
        McpClient(
            name="windsurf", title="Windsurf", key="mcpServers", user=home / ".codeium" / "windsurf" / "mcp_config.json",
            also=(machine.xdg / "devin" / "mcp_config.json",),
        ),
        McpClient(name="codex", title="Codex", key="mcp_servers", user=codex / "config.toml"),
        McpClient(
            name="gemini-cli", title="Gemini CLI", key="mcpServers", user=home / ".gemini" / "settings.json",
            project=here / ".gemini" / "settings.json",
        ),
        McpClient(
            name="zed", title="Zed", key="context_servers", user=_find_zed_settings(machine),
            project=here / ".zed" / "settings.json",
        ),
        McpClient(name="goose", title="Goose", key="extensions", user=_find_goose_config(machine)),
    )  # fmt: skip
    return {client.name: client for client in found}


def _find_zed_settings(machine: Machine) -> Path:
    folder = machine.roaming / "Zed" if machine.platform == "windows" else machine.xdg / "zed"
    return folder / "settings.json"


def _find_goose_config(machine: Machine) -> Path:
    if machine.platform == "windows":
        return machine.roaming / "Block" / "goose" / "config" / "config.yaml"
    return machine.xdg / "goose" / "config.yaml"
