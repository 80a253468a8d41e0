"""``gristmill serve``: serves MCP over stdio, or the whole HTTP service."""

import asyncio
import logging
import os
from importlib.util import find_spec
from typing import Annotated

import typer

from gristmill.config.config_source import ConfigSource
from gristmill.config.tree import load_config
from gristmill.errors import ConfigError
from gristmill.serve.cli.verb_options import ConfigFile

TOKEN_VARIABLE = "GRISTMILL_TOKEN"  # noqa: S105  # the name of a variable, not a token


def serve(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on, with --http; default `serve.host`.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port, with --http; 0 picks a free one; default `serve.port`.", min=0, max=65_535)
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Ignore GRISTMILL_TOKEN, so that this machine needs no token.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Serve two MCP tools, `search_tools` and `execute_code`, to any MCP client; with `--http` the whole service.

    Without `--http` an MCP client starts this command itself and talks to it over stdio. With `--http` the API is at
    `http://127.0.0.1:8030`, MCP at `/mcp` and the dashboard at `/dashboard`. Requests from this machine need no token unless
    the environment variable GRISTMILL_TOKEN holds one; any other address needs tokens: see `gristmill tokens`.

    Servers, policy rules and the rollout that are changed in the configuration take effect within seconds, without a restart.

    Example: `gristmill serve --http --port 8030`
    """
    # Logs go to stderr: stdout carries the protocol.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    source = ConfigSource.from_file(config, load_config)
    settings = source.load()
    if http:
        _check_http_is_installed()
        from gristmill.serve.cli.verbs.operate.serve_http import serve_http

        serve_http(config, host=host, port=port, token=None if no_token else os.environ.get(TOKEN_VARIABLE))
    else:
        from gristmill.serve.mcp.transport.serve_mcp_stdio import serve_stdio

        asyncio.run(serve_stdio(settings, source))


def _check_http_is_installed() -> None:
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise ConfigError("the HTTP service is not installed: run pip install 'gristmill[http]'")
