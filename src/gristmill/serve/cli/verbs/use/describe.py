"""``gristmill describe``: everything about a tool, as source to read."""

from typing import Annotated, Literal

import typer

from gristmill.serve.cli.ask_discovery import WAIT, Wait, ask
from gristmill.serve.cli.verbs.use.run import ConfigFile


def describe(
    keys: Annotated[list[str], typer.Argument(help="Tools, as server.tool.", metavar="KEY...")],
    language: Annotated[Literal["python", "typescript"], typer.Option(help="The language to write it in.")] = "python",
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print the definitions as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show the whole signature, the types and the documentation of one or more tools.

    Example: `gristmill describe time.get_current_time --language typescript`
    """
    from gristmill.serve.cli.terminal.show_tools import print_described

    print_described(ask(config, lambda discovery: discovery.describe(keys, language=language), wait=wait), json=json)
