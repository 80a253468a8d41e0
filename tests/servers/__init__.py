"""Where the tool servers of the integration tests are, real ones and hostile ones."""

import json
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools"
HERE = Path(__file__).parent

NODE = (
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
)
NODE_24 = (
    "node@24",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
)
"""Clients and the conformance suite want a newer Node than most machines have: it comes with them."""
PYTHON = {
    "mcp-server-git": ("mcp-server-git",),
    "mcp-server-time": ("mcp-server-time",),
    "mcp-server-fetch": ("mcp-server-fetch",),
    "mcp-server-sqlite": ("mcp-server-sqlite", "mcp<2"),
}
HOME_ASSISTANT = (
    "--no-compile",  # a thousand integrations, of which a dozen are loaded
    "homeassistant==2024.3.3",  # the last that runs on Python 3.11
    "josepy<2",
    # What its parts would install at the first start; pinned by them.
    "PyOTP==2.8.0", "PyQRCode==1.2.1", "SQLAlchemy==2.0.27", "fnv-hash-fast==0.5.0", "psutil-home-assistant==0.0.1",
    "Pillow==10.2.0", "janus==1.0.0", "home-assistant-frontend==20240307.0", "hassil==1.6.1",
    "home-assistant-intents==2024.3.12", "securetar==2024.2.1",
)  # fmt: skip
CLIENTS = {
    "client-fastmcp": ("fastmcp==4.1.2",),
    "client-pydantic-ai": ("pydantic-ai-slim[mcp]==2.66.*",),
    "client-langchain": ("langchain[mcp]==1.4.7",),
}
"""Real clients, each in an environment of its own."""


def client_python(name: str) -> str:
    """The Python of a client's environment."""
    return str(_existing(TOOLS / name / "bin" / "python"))


def python_command(name: str) -> str:
    """The program of a Python server; fails if it is not installed, and says how to install it."""
    return str(_existing(TOOLS / name / "bin" / name))


def node_command(package: str) -> tuple[str, str]:
    """Node and the script of a Node server."""
    name = package.rsplit("@", 1)[0] if package.count("@") > 1 else package
    home = _existing(TOOLS / "node" / "node_modules" / name)
    binary = json.loads((home / "package.json").read_text())["bin"]
    script = binary if isinstance(binary, str) else next(iter(binary.values()))
    node = shutil.which("node") or str(_existing(TOOLS / "nodejs" / "bin" / "node"))
    return node, str(_existing(home / script))


def node_24(script: str) -> tuple[str, str]:
    """Node 24 and a script of one of the packages installed beside it."""
    home = TOOLS / "node24" / "node_modules"
    return str(_existing(home / ".bin" / "node")), str(_existing(home / script))


def _existing(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `python -m tests.servers` first")
    return path
