"""``gristmill describe``: prints the full signature and documentation of tools."""

from typing import Annotated, Literal

import typer

from gristmill.serve.cli.ask_discovery import ask_discovery
from gristmill.serve.cli.terminal.show_tools import print_described
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile, WaitOption


def describe(
    keys: Annotated[list[str], typer.Argument(help="Tools, as server.tool.", metavar="KEY...")],
    language: Annotated[Literal["python", "typescript"], typer.Option(help="Language of the signatures.")] = "python",
    wait: WaitOption = WAIT_SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the definitions as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show the full signature, types and documentation of one or more tools.

    Example: `gristmill describe time.get_current_time --language typescript`
    """
    print_described(ask_discovery(config, lambda discovery: discovery.describe(keys, language=language), wait=wait), json=json)
