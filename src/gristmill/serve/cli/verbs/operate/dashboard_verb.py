"""``gristmill dashboard``: opens the pages of a running service, signed in as the user of this machine."""

import socket
import webbrowser
from typing import Annotated

import typer

from gristmill.config.tree import load_config
from gristmill.errors import ConfigError
from gristmill.model import LOCAL
from gristmill.serve.cli.terminal.safe_output import print_json, stderr
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json
from gristmill.serve.cli.verbs.operate.tokens import open_tokens

SCOPES = ("execute", "read", "approve", "admin")
CONNECT_SECONDS = 2.0


def dashboard(
    url: Annotated[
        str | None,
        typer.Option(help="Where the service answers; default `serve.public_url`, else its host and port."),
    ] = None,
    hours: Annotated[float, typer.Option(help="Hours until you have to sign in again.", min=0.01, max=720)] = 12.0,
    show: Annotated[bool, typer.Option("--print", help="Print the address instead of opening a browser.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Open the dashboard of a running service, signed in as the user of this machine, who may also approve.

    The service must use the same store. The address holds a token: who has it can do what you can, until it expires.

    Example: `gristmill dashboard`
    """
    settings = load_config(config).serve
    base = (url or settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/")
    if not (url or settings.public_url):
        _check_listening(settings.host, settings.port)
    text, token = use_opened(open_tokens, config, lambda tokens: tokens.create(LOCAL, scopes=SCOPES, seconds=hours * 3_600))
    address = f"{base}/dashboard/#/sign-in/{text}"
    if json:
        print_json({"url": address, "token": token.id, "expires": token.expires})
        return
    if show or not webbrowser.open(address):
        typer.echo(address)
    stderr().print(f"signed in as {LOCAL} for {hours:g} h; `gristmill tokens revoke {token.id}` ends it", style="dim")


def _check_listening(host: str, port: int) -> None:
    if port == 0:
        raise ConfigError("serve.port is 0, so the port is not known: say where the service answers with --url")
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        text = f"nothing answers at {host}:{port} ({error.strerror or error}): start it with `gristmill serve --http`"
        raise ConfigError(text) from None
