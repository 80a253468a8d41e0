"""``gristmill init``: from the servers that other clients have to a configuration of ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gristmill.mcp_configs.find_servers import FoundServer, Survey
    from gristmill.runtime.tools.discovery import Discovery, ServerRow


def init(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take every server of the user's own files, and ask nothing.")] = False,
    server: Annotated[list[str] | None, typer.Option(help="Take this server; may be given several times.")] = None,
    project: Annotated[
        bool, typer.Option("--project", help="Also trust the servers that this folder's own files ask for.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Start the servers, and show their tools and the tokens that these cost today.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for servers, with --measure.", min=0)] = 30.0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite servers that are there already.")] = False,
    keyring: Annotated[bool, typer.Option("--keyring", help="Refer to the keyring for secrets, not to the environment.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was found and done as JSON; asks nothing.")] = False,
    config: Annotated[Path, typer.Option("--config", "-c", help="The file to write.")] = Path("gristmill.toml"),
) -> None:
    """Find the MCP servers of the clients on this machine, and write those that you pick into gristmill.toml.

    Comments in the file stay, and servers in it are not touched without --replace. Secrets in plain text are not copied: a
    reference stands in their place, and you are told where to put them. The clients' own files are only read.

    Example: `gristmill init --measure`
    """
    from gristmill.mcp_configs.client_places import Machine
    from gristmill.mcp_configs.find_servers import survey
    from gristmill.mcp_configs.merge_servers import merge_servers

    found = survey(Machine.here())
    rows: Mapping[str, ServerRow] = _measured(found, config, project=project, wait=wait) if measure else {}
    if not json:
        _show(found, rows)
    names = _names(found, server, project=project, ask=not (yes or json))
    done = merge_servers(found.pick(names), config, replace=replace, keyring=keyring, write=False)
    may_write = not dry_run and bool(done.diff) and (yes or json or _confirmed(config, done.diff))
    if may_write:
        merge_servers(found.pick(names), config, replace=replace, keyring=keyring)
    _tell(found, done, rows, config, json=json, written=may_write)


def _trusted(server: "FoundServer", *, project: bool) -> bool:
    # A folder's own files may come from strangers: what they ask for is not started and not taken unless somebody says so.
    return project or "user" in server.scopes


def _measured(found: "Survey", file: Path, *, project: bool, wait: float) -> "Mapping[str, ServerRow]":
    import os

    from gristmill.config.tree import Config, load_config
    from gristmill.serve.cli.ask_discovery import ask_about
    from gristmill.serve.cli.terminal.safe_output import stderr

    servers: dict[str, Any] = {}
    for server in found.servers:
        if _trusted(server, project=project) and server.config.enabled:
            servers[server.name] = _with_secrets(server, os.environ)
    if not servers:
        return {}

    async def look(discovery: "Discovery") -> "dict[str, ServerRow]":
        return {row.name: row for row in await discovery.servers()}

    settings = Config(servers=servers, store=load_config(file if file.exists() else None).store)
    with stderr().status(f"starting {len(servers)} servers"):
        return ask_about(settings, look, wait=wait, again=True)


def _with_secrets(server: "FoundServer", environ: "Any") -> Any:
    """The server as its client starts it. The secrets go where only this process and that one server see them."""
    text = server.config.model_dump_json(exclude_unset=True)
    for number, secret in enumerate(server.secrets):
        variable = f"MEASURED_{server.name}_{number}"
        environ[variable] = secret.value
        text = text.replace(f"${{keyring:{secret.service}/{secret.name}}}", f"${{env:{variable}}}")
    return type(server.config).model_validate_json(text)


def _names(found: "Survey", asked: "Sequence[str] | None", *, project: bool, ask: bool) -> frozenset[str]:
    """The servers to take: those that were named, those that the user picks, or all that can be trusted."""
    import difflib

    from gristmill.errors import NotFound

    known = [server.name for server in found.servers]
    if asked:
        for name in asked:
            if name not in known:
                raise NotFound(f"no client has a server {name[:60]!r}", near=difflib.get_close_matches(name, known, n=3))
        return frozenset(asked)
    trusted = [server.name for server in found.servers if _trusted(server, project=project)]
    return _picked(known, trusted) if ask and known else frozenset(trusted)


def _picked(known: "Sequence[str]", default: "Sequence[str]") -> frozenset[str]:
    import sys

    from gristmill.errors import ConfigError
    from gristmill.serve.cli.terminal.pick_from_list import chosen

    if not sys.stdin.isatty():
        raise ConfigError("nobody is here to ask: say --yes to take every server, or --server NAME for some of them")
    while True:
        said = typer.prompt("Which servers? Numbers such as 1,3-5, or all, or none", default="all", err=True)
        try:
            return frozenset(default if said.strip() == "all" else chosen(said, known))
        except ValueError as error:
            typer.echo(str(error), err=True)


def _confirmed(config: Path, diff: str) -> bool:
    from gristmill.serve.cli.terminal.safe_output import harmless, stderr

    stderr().print(harmless(diff), markup=False)
    verb = "Change" if config.exists() else "Write"
    return typer.confirm(f"{verb} {config}?", default=True, err=True)


def _show(found: "Survey", rows: "Mapping[str, ServerRow]") -> None:
    from rich.markup import escape
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless, stderr, stdout

    for file in found.files:
        what = f"[red]{escape(harmless(file.problem))}[/]" if file.problem else f"{file.servers} servers"
        stderr().print(f"{file.client} ({file.scope}) {escape(str(file.path))}: {what}")
    if not found.files:
        stderr().print("no client's configuration was found on this machine", style="yellow")
    table = Table("", "server", "what", "clients", *(("tools", "tokens", "state") if rows else ()), box=None, pad_edge=False)
    for number, server in enumerate(found.servers, 1):
        what = server.config.url or " ".join((server.config.command or "", *server.config.args))
        cells = [str(number), server.name, _short(harmless(what)), ", ".join(server.clients) + _mark(server)]
        table.add_row(*map(escape, cells + (_cells(rows.get(server.name)) if rows else [])))
    if found.servers:
        stdout().print(table)
    if rows:
        total, tools = sum(row.tokens for row in rows.values()), sum(row.tools for row in rows.values())
        stdout().print(f"{tools:,} tools cost a model {total:,} tokens of context today, before the first question")


def _mark(server: "FoundServer") -> str:
    return "" if "user" in server.scopes else " (this folder's)"


def _cells(row: "ServerRow | None") -> list[str]:
    from gristmill.serve.cli.terminal.safe_output import harmless

    if row is None:
        return ["", "", "not started"]
    return [f"{row.tools:,}", f"{row.tokens:,}", _short(harmless(row.error or row.state))]


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _tell(found: "Survey", done: Any, rows: "Mapping[str, ServerRow]", config: Path, *, json: bool, written: bool) -> None:
    from dataclasses import asdict

    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stderr, stdout

    if json:
        print_json({
            "files": [asdict(file) for file in found.files],
            "servers": [
                {"name": each.name, "kind": each.config.kind, "clients": each.clients, "scopes": each.scopes,
                 "tools": rows[each.name].tools if each.name in rows else None,
                 "tokens": rows[each.name].tokens if each.name in rows else None}
                for each in found.servers
            ],
            "added": done.added, "replaced": done.replaced, "skipped": done.skipped,
            "secrets": [asdict(each) for each in done.secrets], "diff": done.diff, "file": config, "written": written,
        })  # fmt: skip
        return
    for line in done.lines():
        stderr().print(harmless(line), markup=False)
    if written:
        stdout().print(f"wrote {config}", markup=False)
        stderr().print("next: `gristmill doctor` checks it, `gristmill install CLIENT` makes a client use it", style="dim")
    elif done.diff:
        stdout().print(harmless(done.diff), markup=False, end="")
        stderr().print("nothing was written", style="dim")
