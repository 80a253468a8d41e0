"""``gristmill login`` and ``gristmill logout``: the tokens of servers that want OAuth."""

from typing import Annotated, Any

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

ServerArgument = Annotated[str, typer.Argument(help="The server's name in the configuration.")]


def login(
    server: ServerArgument,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the address in a browser here.")] = True,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the person.", min=1, max=3_600)] = 300.0,
    config: ConfigFile = None,
) -> None:
    """Log in to a server once, with OAuth: prints an address to visit, and waits until the browser comes back.

    The tokens go to the keyring, or without one to an encrypted file of the state folder, and are refreshed from then on.
    Example: `gristmill login tickets`
    """
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.runtime.open.server_logins import log_in
    from gristmill.serve.cli.terminal.safe_output import stderr, stdout

    async def show(url: str) -> None:
        # The address is for a person to copy: it must stand on a line of its own, whole.
        stderr().print("visit this address to log in:", style="yellow")
        stderr().print(url, markup=False, soft_wrap=True)
        if browser:
            _open(url)

    tools = asyncio.run(log_in(load_config(config), server, show, seconds=timeout))
    stdout().print(f"logged in to {server}: {tools} tools", markup=False)


def logout(server: ServerArgument, config: ConfigFile = None) -> None:
    """Forget the tokens of a server. Whoever issued them still honours them until they end.

    Example: `gristmill logout tickets`
    """
    from gristmill.config.tree import load_config
    from gristmill.runtime.open.server_logins import log_out
    from gristmill.serve.cli.terminal.safe_output import stdout

    known = log_out(load_config(config), server)
    stdout().print(f"logged out of {server}" if known else f"there was no login to {server}", markup=False)


def _open(url: str) -> Any:
    import webbrowser

    return webbrowser.open(url) if url.startswith(("https://", "http://")) else None
