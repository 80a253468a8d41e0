"""``gristmill serve``: the MCP server, over stdio or HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gristmill.serve.cli.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.config import Config

TOKEN_VARIABLE = "GRISTMILL_TOKEN"  # noqa: S105  # the name of a variable, not a token


def serve(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, with --http; 0 takes a free one.", min=0, max=65_535)] = 8765,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let everybody on this machine in; loopback only.")] = False,
    passthrough: Annotated[
        str | None, typer.Option(help="Show the tools, resources and prompts of this server as they are, instead of ours.")
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Serve MCP: two tools, `search_tools` and `execute_code`, for any MCP client.

    On stdio a client starts this command itself. With `--http` clients connect to `http://127.0.0.1:8765/mcp` and send the
    token from the environment variable GRISTMILL_TOKEN; without one, a token is made and written to the state folder.

    Example: `gristmill serve --http --port 8765`
    """
    import asyncio
    import logging

    from gristmill.config import load_config

    # stdout belongs to the protocol.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = load_config(config)
    if passthrough is not None or http:
        from gristmill.serve.mcp.run_http import run_http

        token = None if no_token else _token(settings)
        asyncio.run(run_http(settings, host=host, port=port, token=token, passthrough=passthrough))
    else:
        from gristmill.serve.mcp.run_stdio import run_stdio

        asyncio.run(run_stdio(settings))


def _token(config: "Config") -> str:
    """The token of the environment, else the one in the state folder, made when there is none."""
    import os
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
