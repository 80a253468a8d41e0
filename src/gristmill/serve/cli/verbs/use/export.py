"""``gristmill export``: the tools as a model provider's API takes them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gristmill.serve.cli.ask_discovery import WAIT, Wait, ask
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.model import Tool
    from gristmill.runtime.tools.discovery import Discovery


def export(
    format: Annotated[Literal["anthropic", "openai"], typer.Option("--format", help="Whose API.")],  # noqa: A002
    server: Annotated[list[str] | None, typer.Option(help="Only this server; may be given several times.")] = None,
    defer: Annotated[bool, typer.Option("--defer/--no-defer", help="Let the provider's tool search load them.")] = True,
    code: Annotated[bool, typer.Option("--code/--no-code", help="Let the provider's own code call them.")] = True,
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default is standard output.")] = None,
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; this verb always does.")] = True,  # noqa: ARG001
    config: ConfigFile = None,
) -> None:
    """Write the tools as an array for a provider's API: deferred, in namespaces, callable from its code, with output schemas.

    `tools` goes into the request. `names` maps the name of a call in the answer (with OpenAI `namespace.name`) to our tool, so
    that the call can be made through Gristmill, with its rules, masks and records. `left_out` says what a provider cannot take.

    Example: `gristmill export --format anthropic --server github --to tools.json`
    """
    from json import dumps

    from gristmill.config.atomic_write import write_whole
    from gristmill.serve.provider_tools import Wishes, exported

    made = exported(ask(config, lambda discovery: _tools(discovery, server), wait=wait), format, Wishes(defer=defer, code=code))
    told = {"format": format, "tools": made.tools, "names": made.names, "left_out": made.left_out}
    text = dumps(told, indent=2, ensure_ascii=to is None) + "\n"
    if to is None:
        typer.echo(text, nl=False)
    else:
        write_whole(to, text.encode(), new_mode=0o644)


async def _tools(discovery: "Discovery", servers: list[str] | None) -> "list[Tool]":
    names = servers or [server.name for server in discovery.list_servers()]
    return [tool for name in dict.fromkeys(names) for tool in discovery.list_tools(name)]
