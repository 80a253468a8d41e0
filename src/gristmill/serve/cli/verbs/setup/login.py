"""``gristmill login`` and ``gristmill logout``: get and forget the tokens of servers that need OAuth."""

import asyncio
import webbrowser
from typing import Annotated, Any

import typer

from gristmill.config.tree import load_config
from gristmill.runtime.open.server_logins import log_in, log_out
from gristmill.serve.cli.terminal.safe_output import stderr, stdout
from gristmill.serve.cli.verb_options import ConfigFile

ServerArgument = Annotated[str, typer.Argument(help="The server's name in the configuration.")]


def login(
    server: ServerArgument,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the login page in a browser on this machine.")
    ] = True,
    timeout: Annotated[float, typer.Option(help="Seconds to wait until you have logged in.", min=1, max=3_600)] = 300.0,
    config: ConfigFile = None,
) -> None:
    """Log in to a server with OAuth: prints an address to visit, and waits until you have logged in there.

    The tokens are kept in the keyring, or else in an encrypted file of the state folder, and are refreshed from then on.
    Example: `gristmill login tickets`
    """

    async def show(url: str) -> None:
        # The user may have to copy the address, so it is printed unbroken on a line of its own.
        stderr().print("visit this address to log in:", style="yellow")
        stderr().print(url, soft_wrap=True)
        if browser:
            _open_browser(url)

    tools = asyncio.run(log_in(load_config(config), server, show, seconds=timeout))
    stdout().print(f"logged in to {server}: {tools} tools")


def logout(server: ServerArgument, config: ConfigFile = None) -> None:
    """Delete the stored tokens of a server. They stay valid at the server until they expire or are revoked there.

    Example: `gristmill logout tickets`
    """
    known = log_out(load_config(config), server)
    stdout().print(f"logged out of {server}" if known else f"there was no login for {server}")


def _open_browser(url: str) -> Any:
    return webbrowser.open(url) if url.startswith(("https://", "http://")) else None
