"""Where each client keeps its list of servers, per operating system. Only says where: reads and writes nothing."""

import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from gristmill.values import dataclass

Scope = Literal["user", "project"]
Platform = Literal["linux", "mac", "windows"]
_PLATFORMS: dict[str, Platform] = {"darwin": "mac", "win32": "windows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What decides where files are; tests make their own."""

    home: Path
    cwd: Path
    platform: Platform = "linux"
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def here(cls) -> "Machine":
        """This machine."""
        return cls(home=Path.home(), cwd=Path.cwd(), platform=_PLATFORMS.get(sys.platform, "linux"), environ=dict(os.environ))

    @property
    def xdg(self) -> Path:
        """``~/.config``, or where the user moved it."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def roaming(self) -> Path:
        """Where desktop applications keep their settings."""
        if self.platform == "mac":
            return self.home / "Library" / "Application Support"
        if self.platform == "windows":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.xdg


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client: under which key its list of servers stands, and the files that may hold one."""

    name: str
    title: str
    key: str
    user: Path
    project: Path | None = None
    also: tuple[Path, ...] = ()
    """Further files that are read, never written."""

    def file(self, scope: Scope) -> Path | None:
        """The file of that scope; nothing when the client has none."""
        return self.user if scope == "user" else self.project


def clients(machine: Machine) -> dict[str, Client]:
    """Every client that we know, by name, with its files on ``machine``."""
    home, here, roaming = machine.home, machine.cwd, machine.roaming
    codex = Path(machine.environ.get("CODEX_HOME") or home / ".codex")
    found = (
        Client(
            name="claude-desktop", title="Claude Desktop", key="mcpServers",
            user=roaming / "Claude" / "claude_desktop_config.json",
        ),
        Client(
            name="claude-code", title="Claude Code", key="mcpServers", user=home / ".claude.json", project=here / ".mcp.json"
        ),
        Client(
            name="cursor", title="Cursor", key="mcpServers", user=home / ".cursor" / "mcp.json",
            project=here / ".cursor" / "mcp.json",
        ),
        Client(
            name="vscode", title="VS Code", key="servers", user=roaming / "Code" / "User" / "mcp.json",
            project=here / ".vscode" / "mcp.json",
        ),
        Client(
            name="windsurf", title="Windsurf", key="mcpServers", user=home / ".codeium" / "windsurf" / "mcp_config.json",
            also=(machine.xdg / "devin" / "mcp_config.json",),
        ),
        Client(name="codex", title="Codex", key="mcp_servers", user=codex / "config.toml"),
        Client(
            name="gemini-cli", title="Gemini CLI", key="mcpServers", user=home / ".gemini" / "settings.json",
            project=here / ".gemini" / "settings.json",
        ),
        Client(
            name="zed", title="Zed", key="context_servers", user=_zed(machine), project=here / ".zed" / "settings.json"
        ),
        Client(name="goose", title="Goose", key="extensions", user=_goose(machine)),
    )  # fmt: skip
    return {client.name: client for client in found}


def _zed(machine: Machine) -> Path:
    folder = machine.roaming / "Zed" if machine.platform == "windows" else machine.xdg / "zed"
    return folder / "settings.json"


def _goose(machine: Machine) -> Path:
    if machine.platform == "windows":
        return machine.roaming / "Block" / "goose" / "config" / "config.yaml"
    return machine.xdg / "goose" / "config.yaml"
