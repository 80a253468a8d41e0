"""``gristmill serve``: MCP over stdio, or the whole service over HTTP."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gristmill.loading import loading
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.config.tree import Config

TOKEN_VARIABLE = "GRISTMILL_TOKEN"  # noqa: S105  # the name of a variable, not a token


def serve(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on, with --http; default `serve.host`.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port, with --http; 0 takes a free one; default `serve.port`.", min=0, max=65_535)
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Ignore GRISTMILL_TOKEN: this machine needs none.")] = False,
    passthrough: Annotated[
        str | None, typer.Option(help="Test mode: relay this server as it is, without rules or records.", hidden=True)
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Serve MCP: two tools, `search_tools` and `execute_code`, for any MCP client; with `--http` the whole service.

    On stdio a client starts this command itself. With `--http` there are the HTTP API at `http://127.0.0.1:8030`, MCP at
    `/mcp` and pages for people at `/dashboard`. This machine needs no token unless the environment variable GRISTMILL_TOKEN
    holds one; any other address needs tokens: see `gristmill tokens`.

    Example: `gristmill serve --http --port 8030`
    """
    import asyncio
    import logging

    from gristmill.config.tree import load_config

    # stdout belongs to the protocol.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = load_config(config)
    if passthrough is not None:
        from gristmill.serve.mcp.run_http import run_http

        token = None if no_token else _token(settings)
        listen, at = host or settings.serve.host, settings.serve.port if port is None else port
        asyncio.run(run_http(settings, host=listen, port=at, token=token, passthrough=passthrough))
    elif http:
        from gristmill.serve.cli.verbs.operate.serve_http import serve_http

        serve_http(config, host=host, port=port, token=None if no_token else os.environ.get(TOKEN_VARIABLE))
    else:
        with loading():
            from gristmill.serve.mcp.transport.serve_mcp_stdio import run_stdio

        asyncio.run(run_stdio(settings))


def _token(config: "Config") -> str:
    """The token of the environment, else the one in the state folder, made when there is none."""
    import secrets

    from gristmill.errors import ConfigError

    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None:
        if len(given) < 16:
            raise ConfigError(f"{TOKEN_VARIABLE} is too short to be a secret: use at least 16 characters")
        return given
    path: Path = config.state_dir / "http-token"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
    except FileExistsError:
        pass
    return path.read_text().strip()
