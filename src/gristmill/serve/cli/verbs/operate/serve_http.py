"""The HTTP half of ``gristmill serve``: called by the verb when ``--http`` is given."""

from pathlib import Path
from typing import Any


def serve_http(config: Path | None = None, *, host: str | None = None, port: int | None = None, token: str | None = None) -> None:
    """Serve HTTP until interrupted; ``host`` and ``port`` win over the configuration, ``token`` opens without being registered.

    Raises:
        ConfigError: the extra is not installed, or an address beyond this machine without tokens.
    """
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.errors import ConfigError

    try:
        import fastapi  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import uvicorn  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise ConfigError("the HTTP service needs an extra: pip install 'gristmill[http]'") from None
    from gristmill.serve.http.http_server import serve
    from gristmill.serve.http.mount_mcp import known_mounts

    asked: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    asyncio.run(serve(load_config(config, serve=asked), *known_mounts(), token=token))
