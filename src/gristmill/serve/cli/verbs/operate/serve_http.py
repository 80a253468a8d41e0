"""Starts the HTTP service for ``gristmill serve --http``."""

import asyncio
from pathlib import Path
from typing import Any

from gristmill.config.config_source import ConfigSource
from gristmill.config.tree import load_config
from gristmill.serve.http.http_server import run_service
from gristmill.serve.http.mount_mcp import list_mounts


def serve_http(config: Path | None = None, *, host: str | None = None, port: int | None = None, token: str | None = None) -> None:
    """Serves HTTP until interrupted. ``host`` and ``port`` override the configuration; ``token`` needs no registration.

    Raises:
        ConfigError: the address can be reached from other machines and there are no tokens.
    """
    asked: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    source = ConfigSource.from_file(config, lambda file: load_config(file, serve=asked))
    asyncio.run(run_service(source.load(), *list_mounts(), token=token, source=source))
