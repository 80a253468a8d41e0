"""``gristmill tools``: shows servers, their tools and changed definitions; ``gristmill tools accept`` accepts changes."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from msgspec import to_builtins
from typer.core import TyperGroup

from gristmill.runtime.tools.discovery import Discovery, ServerRow
from gristmill.runtime.values.search_values import take_first_sentence
from gristmill.serve.cli.ask_discovery import ask_discovery
from gristmill.serve.cli.terminal.print_tables import Cell, Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, print_server_output, stderr, stdout, style_parts
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile, WaitOption


class _ServerOrVerb(TyperGroup):
    """The ``tools`` group: a word that is no verb of it is a server's name (``tools crm`` against ``tools accept``)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Inserts ``--server`` before the first word that is no verb."""
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
    server: Annotated[
        str | None, typer.Option(help="Show the tools of this server; `gristmill tools NAME` does the same.")
    ] = None,
    changed: Annotated[
        bool, typer.Option("--changed", help="Show the tool definitions that changed since they were accepted.")
    ] = False,
    wait: WaitOption = WAIT_SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show every server with its state and the tokens that its tools would cost a model, or the tools of one server.

    Connects to every server, so that the state is current. Example: `gristmill tools`, `gristmill tools time`
    """
    if ctx.invoked_subcommand is not None:
        return
    if changed:
        _print_changes(server, config, wait, json=json)
    elif server is None:
        _print_servers(config, wait, json=json)
    else:
        _print_tools(server, config, wait, json=json)


@app.command("accept")
def accept(
    what: Annotated[str | None, typer.Argument(help="A server, or one tool of it.", metavar="SERVER[.TOOL]")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Accept all changed definitions.")] = False,
    wait: WaitOption = WAIT_SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the accepted keys as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Accept changed tool definitions. Look at them first with `gristmill tools --changed`.

    Example: `gristmill tools accept crm.get_customer`
    """
    if (what is None) is not everything:
        raise typer.BadParameter("give a server, a tool, or --all")
    server, _, tool = (what or "").partition(".")
    named: dict[str, Any] = {} if everything else {"tool": what} if tool else {"server": server}
    accepted = ask_discovery(config, lambda discovery: discovery.accept(**named), wait=wait, again=True)
    if json:
        print_json({"accepted": list(accepted)})
    else:
        stdout().print("\n".join(neutralize_text(f"accepted {key}") for key in accepted) or "nothing has changed")


def _print_changes(server: str | None, config: Any, wait: float, *, json: bool) -> None:
    found = ask_discovery(config, lambda discovery: discovery.changes(), wait=wait, again=True)
    found = [change for change in found if server is None or change.key.startswith(f"{server}.")]
    if json:
        print_json([
            {"key": each.key, "pinned": each.pinned, "seen": each.seen,
             "edits": [{"place": edit.place, "old": edit.old, "new": edit.new} for edit in each.edits]}
            for each in found
        ])  # fmt: skip
    else:
        stdout().print("\n\n".join(neutralize_text(str(change)) for change in found) or "nothing has changed")


def _print_servers(config: Any, wait: float, *, json: bool) -> None:
    rows = ask_discovery(config, lambda discovery: discovery.servers(), wait=wait, again=True)
    if json:
        print_json([to_builtins(row) for row in rows])
        return
    print_servers(rows)


def print_servers(rows: Sequence[ServerRow]) -> None:
    """Prints a table of the servers and their states, with a total."""
    columns = (
        Column(title="server", kind="fixed"), Column(title="kind", kind="fixed", leave=1), Column(title="state", kind="fixed"),
        Column(title="tools", kind="number"), Column(title="tokens", kind="number"), "notes", "last error",
    )  # fmt: skip
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        colour = {"ready": "green", "failed": "red"}.get(row.state, "yellow")
        notes = [f"{count} {word}" for count, word in ((row.changed, "changed"), (row.flagged, "flagged")) if count]
        notes = ["confined", *notes] if row.confined else notes
        figures = f"{row.tools:,}", f"{row.tokens:,}"
        lines.append((row.name, row.kind, (row.state, colour), *figures, ", ".join(notes), row.error or ""))
    tools, tokens = sum(row.tools for row in rows), sum(row.tokens for row in rows)
    ready = sum(row.state == "ready" for row in rows)
    print_table(columns, lines)
    if len(rows) > 1:
        # Beside the table, not in it: programs that read the table count its lines.
        stderr().print(f"{len(rows)} servers, {ready} ready: {tools:,} tools, {tokens:,} tokens of definitions", style="dim")


def _print_tools(server: str, config: Any, wait: float, *, json: bool) -> None:
    async def load_tools(discovery: Discovery) -> tuple[Any, dict[str, list[str]], str | None, tuple[str, ...]]:
        notes: dict[str, list[str]] = {}
        for finding in await discovery.findings():
            notes.setdefault(finding.key, []).append(finding.rule)
        for change in await discovery.changes():
            notes.setdefault(change.key, []).append("changed")
        error = next((row.error for row in await discovery.servers() if row.name == server and row.state == "failed"), None)
        return discovery.list_tools(server), notes, error, discovery.last_output(server) if error else ()

    found, notes, error, output = ask_discovery(config, load_tools, wait=wait)
    if json:
        print_json([
            {"key": tool.key, "title": tool.title, "description": tool.description, "notes": sorted(set(notes.get(tool.key, ())))}
            for tool in found
        ])  # fmt: skip
        return
    if error:
        stderr().print(style_parts((server, "bold"), f": {error}"))
        print_server_output(stderr(), output)
    marks = {tool.key: ", ".join(sorted(set(notes.get(tool.key, ())))) for tool in found}
    rows = [(tool.key, take_first_sentence(tool.description, 100), marks[tool.key]) for tool in found]
    print_table((Column(title="tool"), "what it does", Column(title="notes")), rows)
    stderr().print(f"{len(found):,} tools", style="dim")
