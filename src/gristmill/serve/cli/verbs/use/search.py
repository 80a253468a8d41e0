"""``gristmill search``: the tools that fit a question."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gristmill import __version__
from gristmill.serve.cli.ask_discovery import WAIT, Wait, ask_about, settings_with_servers
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.config.tree import Config
    from gristmill.model import Tool
    from gristmill.runtime.tools.discovery import Discovery


def search(
    query: Annotated[str, typer.Argument(help="What the tool should do, in your own words.")],
    detail: Annotated[
        Literal["full", "with_description", "name_only"], typer.Option(help="How much to show of each tool.")
    ] = "full",
    limit: Annotated[int, typer.Option(help="How many tools to show.", min=1, max=50)] = 5,
    server: Annotated[str | None, typer.Option(help="Search this server only.")] = None,
    budget: Annotated[int, typer.Option(help="Tokens that the answer may cost.", min=1)] = 1_200,
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print the hits as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Find the tools that fit a question, as a model would be shown them: imports, signatures, a line of documentation.

    Example: `gristmill search "open a pull request" --limit 3`
    """
    from gristmill.config.sources import read_tree
    from gristmill.runtime.last import key_of
    from gristmill.serve.cli.terminal.show_tools import print_found

    key = key_of(read_tree(config), __version__)
    settings = settings_with_servers(config)

    async def search_all(discovery: "Discovery") -> None:
        found = await discovery.search(
            query, detail_level=detail, limit=limit, server=server, budget_tokens=budget, skills=await _skills(settings)
        )
        print_found(found, json=json)
        if key == key_of(read_tree(config), __version__):  # or the file was changed while we read it
            await discovery.keep(settings, key)

    ask_about(settings, search_all, wait=wait)


async def _skills(settings: "Config") -> "tuple[Tool, ...]":
    """The skills that were saved here; where nothing was ever kept nothing is opened, or even imported."""
    if settings.store.url is None and not (settings.state_dir / "gristmill.db").exists():
        return ()
    from gristmill.runtime.open.session_stores import open_keeping, skills_in_sight

    async with open_keeping(settings) as keeping:
        return await skills_in_sight(keeping)
