"""``gristmill search``: the tools that fit a question."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gristmill.serve.cli.asking import WAIT, Wait, ask_about, settings_with_servers
from gristmill.serve.cli.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.config import Config
    from gristmill.model import Tool
    from gristmill.runtime.discover import Discovery, Found


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
    from gristmill.serve.cli.terminal import print_json, print_text, stderr

    settings = settings_with_servers(config)

    async def search_all(discovery: "Discovery") -> "Found":
        return await discovery.search(
            query, detail_level=detail, limit=limit, server=server, budget_tokens=budget, skills=await _skills(settings)
        )

    found = ask_about(settings, search_all, wait=wait)
    if json:
        print_json({"query": found.query, "hits": [_fields(hit) for hit in found.hits], "text": found.text})
    elif found.text:
        print_text(found.text)
    else:
        stderr().print("nothing fits; `gristmill tools` shows what there is")


async def _skills(settings: "Config") -> "tuple[Tool, ...]":
    """The skills that were saved here; where nothing was ever kept nothing is opened, or even imported."""
    if settings.store.url is None and not (settings.state_dir / "gristmill.db").exists():
        return ()
    from gristmill.runtime.keeping import open_keeping, skills_in_sight

    async with open_keeping(settings) as keeping:
        return await skills_in_sight(keeping)


def _fields(hit: Any) -> dict[str, Any]:
    tool = hit.tool
    return {
        "key": tool.key,
        "score": round(hit.score, 3),
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }
