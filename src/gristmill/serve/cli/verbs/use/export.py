"""``gristmill export``: writes the tools in the format of a model provider's API."""

from json import dumps
from pathlib import Path
from typing import Annotated, Literal

import typer

from gristmill.config.atomic_write import write_file_atomically
from gristmill.model import Tool
from gristmill.runs.texts.provider_tools import ExportOptions, export_tools
from gristmill.runtime.tools.discovery import Discovery
from gristmill.serve.cli.ask_discovery import ask_discovery
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile, WaitOption


def export(
    format: Annotated[Literal["anthropic", "openai"], typer.Option("--format", help="The provider's API.")],  # noqa: A002
    server: Annotated[list[str] | None, typer.Option(help="Only this server; repeat for several.")] = None,
    defer: Annotated[
        bool, typer.Option("--defer/--no-defer", help="Let the provider's tool search load the tools on demand.")
    ] = True,
    code: Annotated[bool, typer.Option("--code/--no-code", help="Let code that runs at the provider call the tools.")] = True,
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default is standard output.")] = None,
    wait: WaitOption = WAIT_SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; always on.")] = True,  # noqa: ARG001
    config: ConfigFile = None,
) -> None:
    """Write the tools as JSON for a provider's API, ready to be found by its tool search and called from its code.

    Put `tools` into the request. `names` maps the name of a call in the answer (with OpenAI `namespace.name`) to our tool: make
    the call through Gristmill, so that its rules, masks and records apply. `left_out` lists tools that the provider cannot take.

    Example: `gristmill export --format anthropic --server github --to tools.json`
    """
    made = export_tools(
        ask_discovery(config, lambda discovery: _list_tools(discovery, server), wait=wait),
        format,
        ExportOptions(defer=defer, code=code),
    )
    document = {"format": format, "tools": made.tools, "names": made.names, "left_out": made.left_out}
    text = dumps(document, indent=2, ensure_ascii=to is None) + "\n"
    if to is None:
        typer.echo(text, nl=False)
    else:
        write_file_atomically(to, text.encode(), new_mode=0o644)


async def _list_tools(discovery: Discovery, servers: list[str] | None) -> list[Tool]:
    names = servers or [server.name for server in discovery.list_servers()]
    return [tool for name in dict.fromkeys(names) for tool in discovery.list_tools(name)]
