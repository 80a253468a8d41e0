"""The configuration of an example, ready to be opened from anywhere: its own file, with this interpreter and this checkout."""

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from gristmill.config.tree import Config, load_config

App = Literal["pam", "homeiq", "omniops"]
APPS: tuple[App, ...] = get_args(App)
ROOT = Path(__file__).resolve().parents[1]


def app_config(app: App, *, state: Path | None = None, more_servers: Mapping[str, Any] | None = None) -> Config:
    """The example's configuration; ``state`` is where its runtime keeps things, ``more_servers`` stand beside its own."""
    file = ROOT / "examples" / app / "gristmill.toml"
    servers = {name: _here(server) for name, server in tomllib.loads(file.read_text())["servers"].items()}
    store = {"store": {"path": state}} if state else {}
    return load_config(file, servers={**servers, **(more_servers or {})}, **store)


def _here(server: Mapping[str, Any]) -> dict[str, Any]:
    """The same server whatever the working directory is. Servers inherit little, so a moved cache has to be handed on."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return {**server, "command": sys.executable, "cwd": ROOT, "env": {"XDG_CACHE_HOME": cache} if cache else {}}
