"""``gristmill search``: finds the tools that fit a question."""

from typing import Annotated, Literal

import typer

from gristmill.config.tree import Config
from gristmill.model import Tool
from gristmill.runtime.tools.discovery import Discovery
from gristmill.serve.cli.ask_discovery import ask_discovery_with, load_config_or_warn
from gristmill.serve.cli.terminal.show_tools import print_found
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile, WaitOption


def search(
    query: Annotated[str, typer.Argument(help="What the tool should do, in your own words.")],
    detail: Annotated[
        Literal["full", "with_description", "name_only"], typer.Option(help="How much to show of each tool.")
    ] = "full",
    limit: Annotated[int, typer.Option(help="How many tools to show.", min=1, max=100)] = 5,
    server: Annotated[str | None, typer.Option(help="Search this server only.")] = None,
    budget: Annotated[int, typer.Option(help="Most tokens that the answer may have.", min=1)] = 1_200,
    wait: WaitOption = WAIT_SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the hits as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Find the tools that fit a question, shown as a model sees them: imports, signatures, a line of documentation.

    Example: `gristmill search "open a pull request" --limit 3`
    """
    settings = load_config_or_warn(config)

    async def search_all(discovery: Discovery) -> None:
        found = await discovery.search(
            query, detail_level=detail, limit=limit, server=server, budget_tokens=budget, skills=await _load_skills(settings)
        )
        print_found(found, json=json)

    ask_discovery_with(settings, search_all, wait=wait)


async def _load_skills(settings: Config) -> tuple[Tool, ...]:
    """Loads the saved skills; opens and imports nothing if no store exists yet."""
    if settings.store.url is None and not (settings.state_dir / "gristmill.db").exists():
        return ()
    from gristmill.runtime.open.session_stores import open_session_stores

    async with open_session_stores(settings) as stores:
        return await stores.list_skills_as_tools()
