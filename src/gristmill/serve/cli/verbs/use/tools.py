"""``gristmill tools``: the servers and how they are, the tools of one, what changed; ``gristmill tools accept``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gristmill.serve.cli.ask_discovery import WAIT, Wait, ask
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gristmill.runtime.tools.discovery import ServerRow


class _ServerOrVerb(TyperGroup):
    """``tools crm`` shows a server, ``tools accept`` is a verb: whatever is no verb is a server."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a word that is no verb where the option for it is."""
        for place, word in enumerate(args):
            takes_value = place > 0 and args[place - 1] in ("--wait", "--config", "-c", "--server")
            if not word.startswith("-") and not takes_value:
                if word not in self.commands:
                    args = [*args[:place], "--server", *args[place:]]
                break
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_ServerOrVerb, invoke_without_command=True, no_args_is_help=False)


@app.callback()
def tools(
    ctx: typer.Context,
    server: Annotated[str | None, typer.Option(help="Show the tools of this server; the option's name may be left out.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Show the definitions that are not as accepted, and how.")] = False,
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show every server with its state, its tools and what they would cost in a model's context, or the tools of one.

    Every server is connected to, so what is shown is how it is now. Example: `gristmill tools`, `gristmill tools time`
    """
    if ctx.invoked_subcommand is not None:
        return
    if changed:
        _changed(server, config, wait, json=json)
    elif server is None:
        _servers(config, wait, json=json)
    else:
        _tools(server, config, wait, json=json)


@app.command("accept")
def accept(
    what: Annotated[str | None, typer.Argument(help="A server, or one tool of it.", metavar="SERVER[.TOOL]")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Accept every definition that has changed.")] = False,
    wait: Wait = WAIT,
    json: Annotated[bool, typer.Option("--json", help="Print the accepted keys as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Accept changed definitions as they are now; look at them first with `gristmill tools --changed`.

    Example: `gristmill tools accept crm.get_customer`
    """
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    if (what is None) is not everything:
        raise typer.BadParameter("name a server or a tool, or say --all")
    server, _, tool = (what or "").partition(".")
    named: dict[str, Any] = {} if everything else {"tool": what} if tool else {"server": server}
    accepted = ask(config, lambda discovery: discovery.accept(**named), wait=wait, again=True)
    if json:
        print_json({"accepted": list(accepted)})
    else:
        stdout().print("\n".join(harmless(f"accepted {key}") for key in accepted) or "nothing has changed", markup=False)


def _changed(server: str | None, config: Any, wait: float, *, json: bool) -> None:
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    found = ask(config, lambda discovery: discovery.changes(), wait=wait, again=True)
    found = [change for change in found if server is None or change.key.startswith(f"{server}.")]
    if json:
        print_json([
            {"key": each.key, "pinned": each.pinned, "seen": each.seen,
             "edits": [{"place": edit.place, "old": edit.old, "new": edit.new} for edit in each.edits]}
            for each in found
        ])  # fmt: skip
    else:
        stdout().print("\n\n".join(harmless(str(change)) for change in found) or "nothing has changed", markup=False)


def _servers(config: Any, wait: float, *, json: bool) -> None:
    from dataclasses import asdict

    from gristmill.serve.cli.terminal.safe_output import print_json, stdout

    rows = ask(config, lambda discovery: discovery.servers(), wait=wait, again=True)
    if json:
        print_json([asdict(row) for row in rows])
        return
    if rows:
        stdout().print(table_of_servers(rows))


def table_of_servers(rows: "Sequence[ServerRow]") -> Any:
    """The servers and how they are, to be printed."""
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless

    table = Table("server", "kind", "state", "tools", "tokens", "notes", "last error", box=None, pad_edge=False)
    for row in rows:
        colour = {"ready": "green", "failed": "red"}.get(row.state, "yellow")
        notes = [f"{count} {word}" for count, word in ((row.changed, "changed"), (row.flagged, "flagged")) if count]
        notes = ["confined", *notes] if row.confined else notes
        cells = row.name, row.kind, f"[{colour}]{row.state}[/]", f"{row.tools:,}", f"{row.tokens:,}"
        table.add_row(*cells, ", ".join(notes), _plain(harmless(row.error or "")))
    return table


def _tools(server: str, config: Any, wait: float, *, json: bool) -> None:
    from rich.table import Table

    from gristmill.catalog.search.render_hits import one_line
    from gristmill.runtime.tools.discovery import Discovery
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    async def listed(discovery: Discovery) -> tuple[Any, dict[str, list[str]]]:
        notes: dict[str, list[str]] = {}
        for finding in await discovery.findings():
            notes.setdefault(finding.key, []).append(finding.rule)
        for change in await discovery.changes():
            notes.setdefault(change.key, []).append("changed")
        return discovery.list_tools(server), notes

    found, notes = ask(config, listed, wait=wait)
    if json:
        print_json([
            {"key": tool.key, "title": tool.title, "description": tool.description, "notes": sorted(set(notes.get(tool.key, ())))}
            for tool in found
        ])  # fmt: skip
        return
    table = Table("tool", "what it does", "notes", box=None, pad_edge=False)
    for tool in found:
        marks = ", ".join(sorted(set(notes.get(tool.key, ()))))
        table.add_row(_plain(harmless(tool.key)), _plain(one_line(tool.description, 100)), marks)
    stdout().print(table)


def _plain(text: str) -> str:
    """Text of a stranger is no markup."""
    from rich.markup import escape

    return escape(text)
