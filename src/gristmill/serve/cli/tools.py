"""``gristmill tools``: the servers and how they are, or the tools of one."""

from typing import Annotated, Any

import typer

from gristmill.serve.cli.asking import WAIT, Wait, ask
from gristmill.serve.cli.run import ConfigFile


def tools(
    server: Annotated[str | None, typer.Argument(help="Show the tools of this server.")] = None,
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show every server with its state, its tools and what they would cost in a model's context, or the tools of one.

    Every server is connected to, so what is shown is how it is now. Example: `gristmill tools`
    """
    if server is None:
        _servers(config, wait, json=json)
    else:
        _tools(server, config, wait, json=json)


def _servers(config: Any, wait: float, *, json: bool) -> None:
    from dataclasses import asdict

    from rich.table import Table

    from gristmill.serve.cli.terminal import harmless, print_json, stdout

    rows = ask(config, lambda discovery: discovery.servers(), wait=wait, again=True)
    if json:
        print_json([asdict(row) for row in rows])
        return
    table = Table("server", "kind", "state", "tools", "tokens", "last error", box=None, pad_edge=False)
    for row in rows:
        colour = {"ready": "green", "failed": "red"}.get(row.state, "yellow")
        state = f"[{colour}]{row.state}[/]"
        table.add_row(row.name, row.kind, state, f"{row.tools:,}", f"{row.tokens:,}", _plain(harmless(row.error or "")))
    if rows:
        stdout().print(table)


def _tools(server: str, config: Any, wait: float, *, json: bool) -> None:
    from rich.table import Table

    from gristmill.catalog.render import one_line
    from gristmill.model import Tool
    from gristmill.runtime.discover import Discovery
    from gristmill.serve.cli.terminal import harmless, print_json, stdout

    async def listed(discovery: Discovery) -> tuple[Tool, ...]:
        return discovery.list_tools(server)

    found = ask(config, listed, wait=wait)
    if json:
        print_json([{"key": tool.key, "title": tool.title, "description": tool.description} for tool in found])
        return
    table = Table("tool", "what it does", box=None, pad_edge=False)
    for tool in found:
        table.add_row(_plain(harmless(tool.key)), _plain(one_line(tool.description, 100)))
    stdout().print(table)


def _plain(text: str) -> str:
    """Text of a stranger is no markup."""
    from rich.markup import escape

    return escape(text)
