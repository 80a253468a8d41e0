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
    # Only what its core and the parts of tests/servers/home_assistant.py load, in the versions that they pin: with all that it
    # asks for (clouds, Bluetooth) it is a third larger, and half of that has to be built.
    "--no-deps", "--no-compile",
    *"""homeassistant==2024.3.3 aiohttp==3.9.3 aiohttp-cors==0.7.0 aiohttp-fast-url-dispatcher==0.3.0 aiohttp-zlib-ng==0.3.1
    aiosignal==1.4.0 astral==2.2 async-interrupt==1.1.1 atomicwrites-homeassistant==1.4.1 attrs==23.2.0 awesomeversion==24.2.0
    bcrypt==4.1.2 certifi cffi==2.1.1 charset-normalizer==3.5.2 ciso8601==2.3.1 cryptography==42.0.5 fnv-hash-fast==0.5.0
    fnvhash==0.1.0 frozenlist==1.8.0 greenlet==3.5.6 hassil==1.6.1 home-assistant-frontend==20240307.0
    home-assistant-intents==2024.3.12 idna==3.20 ifaddr==0.2.0 janus==1.0.0 Jinja2==3.1.3 lru-dict==1.3.0 MarkupSafe==3.0.4
    multidict==6.9.1 orjson==3.9.15 packaging==26.3 pillow==10.2.0 psutil==7.2.2 psutil-home-assistant==0.0.1 pycparser PyJWT==2.8.0
    PyOTP==2.8.0 PyQRCode==1.2.1 python-dateutil==2.9.0.post0 python-slugify==8.0.4 pytz==2026.6 PyYAML==6.0.1 requests==2.31.0
    securetar==2024.2.1 six==1.17.0 SQLAlchemy==2.0.27 text-unidecode==1.3 typing_extensions==4.16.0 ulid-transform==0.9.0
    unicode-rbnf==1.0.0 urllib3==1.26.20 voluptuous==0.13.1 voluptuous-serialize==2.6.0 yarl==1.9.4 zlib-ng==1.0.0""".split(),
)  # fmt: skip
"""The last that runs on Python 3.11."""
CLIENTS = {
    "client-fastmcp": ("fastmcp==4.1.2",),
    "client-pydantic-ai": ("pydantic-ai-slim[mcp,openai]==2.66.0",),
    "client-langchain": ("langchain[mcp]==1.4.7",),
    "client-openai-agents": ("openai-agents==0.24.0",),
    "client-openai-sdk": ("openai==3.51.0",),
    "client-anthropic-sdk": ("anthropic==2.10.0",),
}
"""Real clients, each in an environment of its own."""
FRAMEWORKS = {
    "client-agent-framework": ("agent-framework-core==1.23.0", "agent-framework-openai==1.17.0", "mcp==2.3.0", "tenacity==9.1.4"),
    "client-llamaindex": ("llama-index-core==0.14.25", "llama-index-tools-mcp==0.6.0", "llama-index-llms-openai-like==0.8.1"),
    "client-adk": ("google-adk[mcp]==2.13.0", "litellm==1.106.2"),
    "client-crewai": ("crewai[tools]==1.15.30",),
}
"""Agent frameworks with large environments (1.5 GB together): `make test-frameworks` installs them."""


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
