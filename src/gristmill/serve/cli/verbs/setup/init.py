"""``gristmill init``: finds the servers of all MCP clients on this machine and writes them into our configuration."""

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct, field, to_builtins

from gristmill.config.sources import DEFAULT_FILE, find_user_file
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError, NotFound
from gristmill.mcp_configs.client_places import Machine
from gristmill.mcp_configs.find_servers import FoundServer, ServerSurvey, survey_servers
from gristmill.mcp_configs.merge_servers import find_stored, merge_servers
from gristmill.runtime.open.open_secrets import open_secrets
from gristmill.runtime.tools.discovery import Discovery, ServerRow
from gristmill.runtime.tools.guess_reads import guess_read_only
from gristmill.serve.cli.ask_discovery import ask_discovery_with
from gristmill.serve.cli.terminal.pick_from_list import pick_names
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout, style_parts
from gristmill.serve.cli.verbs.setup.init_choices import MASK_HELP, MaskChoice, SetupChoices, ask_choices, find_packages


def init(
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take every server from your own client files, without asking.")
    ] = False,
    server: Annotated[list[str] | None, typer.Option(help="Take this server; repeat for several.")] = None,
    project: Annotated[bool, typer.Option("--project", help="Also trust servers that files of this folder name.")] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Start the servers, and show how many tokens their tools cost today.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for servers, with --measure.", min=0)] = 30.0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite servers that already exist.")] = False,
    keyring: Annotated[
        bool,
        typer.Option("--keyring", help="Store secrets in the keyring (or else encrypted), not in environment variables."),
    ] = False,
    packages: Annotated[
        list[str] | None, typer.Option(help="Let programs import a package, or `data`: pandas, numpy, matplotlib, openpyxl.")
    ] = None,
    mask: Annotated[MaskChoice | None, typer.Option(help=MASK_HELP)] = None,
    allow_reads: Annotated[
        bool,
        typer.Option("--allow-reads", help="Allow tools that only read by their names without asking (starts the servers)."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was found and done as JSON, without asking.")] = False,
    user: Annotated[bool, typer.Option("--user", help="Write your own configuration, which holds in every folder.")] = False,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="The file to write; default is ./gristmill.toml.")] = None,
) -> None:
    """Find the MCP servers of the clients on this machine, and write the ones you pick into gristmill.toml.

    Comments and servers that are already in the file stay (see --replace). Secrets in plain text are not copied into it: they
    become references such as `${env:NAME}`, and you are told what to set. The clients' own files are not changed.

    Example: `gristmill init --measure`
    """
    file = _choose_file(config, user=user)
    found = survey_servers(Machine.this_machine())
    seen = _look_at_servers(found, file, project=project, wait=wait) if measure or allow_reads else SeenServers()
    if not json:
        _print_survey(found, seen.rows)
    ask = not (yes or json)
    names = _choose_servers(found, server, project=project, ask=ask)
    picked = found.pick(names)
    guessed = tuple(key for key in seen.guessed if key.partition(".")[0] in names)
    given = SetupChoices(packages=find_packages(packages or ()), mask=mask, reads=guessed if allow_reads else (), keyring=keyring)
    kept = open_secrets(_load_existing(file).state_dir)
    if ask:
        given = ask_choices(given, guessed=guessed, secrets=len(picked.secrets), place=kept.place)
    merge = partial(merge_servers, picked, file, replace=replace, keyring=given.keyring, settings=given.list_settings())
    done = merge(write=False)
    may_write = not dry_run and bool(done.diff) and (not ask or _confirm_write(file, done.diff))
    if may_write:
        merge()
        for secret in find_stored(picked.secrets, done):
            kept.write(secret.service, secret.name, secret.value)
    _print_result(found, done, seen.rows, file, json=json, written=may_write)


def _choose_file(config: Path | None, *, user: bool) -> Path:
    """Returns the file to write; the folder of the user's own is made."""
    if not user:
        return config or Path(DEFAULT_FILE)
    own = find_user_file()
    if config is not None or own is None:
        raise ConfigError(
            "--user writes your own configuration: leave out --config, and give GRISTMILL_USER_CONFIG a value or none"
        )
    own.parent.mkdir(parents=True, exist_ok=True)
    return own


class SeenServers(Struct, frozen=True, kw_only=True):
    """What the servers said when they were started: a row of each, and the tools that only read by their names."""

    rows: Mapping[str, ServerRow] = field(default_factory=dict[str, ServerRow])
    guessed: tuple[str, ...] = ()


def _is_trusted(server: FoundServer, *, project: bool) -> bool:
    # Files of a project folder may come from strangers: their servers are neither started nor taken unless the user says so.
    return project or "user" in server.scopes


def _load_existing(file: Path) -> Config:
    """Loads the configuration that is to be changed; without one, what the environment says."""
    return load_config(file if file.exists() else None)


def _look_at_servers(found: ServerSurvey, file: Path, *, project: bool, wait: float) -> SeenServers:
    servers: dict[str, Any] = {}
    for server in found.servers:
        if _is_trusted(server, project=project) and server.config.enabled:
            servers[server.name] = _resolve_secrets(server, os.environ)
    if not servers:
        return SeenServers()

    async def look(discovery: Discovery) -> SeenServers:
        rows = {row.name: row for row in await discovery.servers()}
        guessed = guess_read_only(tool for name in rows for tool in discovery.list_tools(name))
        return SeenServers(rows=rows, guessed=guessed)

    settings = Config(servers=servers, store=_load_existing(file).store)
    return ask_discovery_with(settings, look, wait=wait, again=True)


def _resolve_secrets(server: FoundServer, environ: Any) -> Any:
    """Returns the server as its client starts it. Secrets go into variables that only this process and that server see."""
    text = server.config.model_dump_json(exclude_unset=True)
    for number, secret in enumerate(server.secrets):
        variable = f"MEASURED_{server.name}_{number}"
        environ[variable] = secret.value
        text = text.replace(f"${{keyring:{secret.service}/{secret.name}}}", f"${{env:{variable}}}")
    return type(server.config).model_validate_json(text)


def _choose_servers(found: ServerSurvey, asked: Sequence[str] | None, *, project: bool, ask: bool) -> frozenset[str]:
    """Returns the servers to take: the named ones, or those that the user picks, or all trusted ones."""
    known = [server.name for server in found.servers]
    if asked:
        for name in asked:
            if name not in known:
                raise NotFound(
                    f"no client on this machine has a server {name[:60]!r}", near=difflib.get_close_matches(name, known, n=3)
                )
        return frozenset(asked)
    trusted = [server.name for server in found.servers if _is_trusted(server, project=project)]
    return _ask_which_servers(known, trusted) if ask and known else frozenset(trusted)


def _ask_which_servers(known: Sequence[str], default: Sequence[str]) -> frozenset[str]:
    if not sys.stdin.isatty():
        raise ConfigError("cannot ask without a terminal: add --yes to take every server, or --server NAME for some")
    while True:
        said = typer.prompt("Which servers? Numbers such as 1,3-5, or all, or none", default="all", err=True)
        try:
            return frozenset(default if said.strip() == "all" else pick_names(said, known))
        except ValueError as error:
            typer.echo(str(error), err=True)


def _confirm_write(config: Path, diff: str) -> bool:
    stderr().print(neutralize_text(diff))
    verb = "Change" if config.exists() else "Write"
    return typer.confirm(f"{verb} {config}?", default=True, err=True)


def _print_survey(found: ServerSurvey, rows: Mapping[str, ServerRow]) -> None:
    for file in found.files:
        what = (file.problem, "red") if file.problem else f"{file.servers} servers"
        stderr().print(style_parts(f"{file.client} ({file.scope}) {file.path}: ", what))
    if not found.files:
        stderr().print("no MCP client configuration was found on this machine", style="yellow")
    measured = (Column(title="tools", kind="number"), Column(title="tokens", kind="number"), Column(title="state"))
    columns = (
        Column(title="", kind="number"),
        Column(title="server", kind="fixed"),
        "what",
        "clients",
        *(measured if rows else ()),
    )
    lines: list[list[str]] = []
    for number, server in enumerate(found.servers, 1):
        what = server.config.url or " ".join((server.config.command or "", *server.config.args))
        cells = [str(number), server.name, _shorten_text(neutralize_text(what)), ", ".join(server.clients) + _mark_scope(server)]
        lines.append([*cells, *(_format_measured(rows.get(server.name)) if rows else [])])
    print_table(columns, lines)
    if rows:
        total, tools = sum(row.tokens for row in rows.values()), sum(row.tools for row in rows.values())
        stdout().print(f"{tools:,} tools cost a model {total:,} tokens of context before the first question")


def _mark_scope(server: FoundServer) -> str:
    return "" if "user" in server.scopes else " (this folder)"


def _format_measured(row: ServerRow | None) -> list[str]:
    if row is None:
        return ["", "", "not started"]
    return [f"{row.tools:,}", f"{row.tokens:,}", _shorten_text(neutralize_text(row.error or row.state))]


def _shorten_text(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _print_result(
    found: ServerSurvey, done: Any, rows: Mapping[str, ServerRow], config: Path, *, json: bool, written: bool
) -> None:
    if json:
        print_json({
            "files": [to_builtins(file, enc_hook=str) for file in found.files],
            "servers": [
                {"name": each.name, "kind": each.config.kind, "clients": each.clients, "scopes": each.scopes,
                 "tools": rows[each.name].tools if each.name in rows else None,
                 "tokens": rows[each.name].tokens if each.name in rows else None}
                for each in found.servers
            ],
            "added": done.added, "replaced": done.replaced, "skipped": done.skipped,
            "secrets": [to_builtins(each, enc_hook=str) for each in done.secrets],
            "notes": done.notes, "diff": done.diff, "file": config, "written": written,
        })  # fmt: skip
        return
    if written or done.diff or done.notes:
        for line in done.lines(stored=written):
            stderr().print(neutralize_text(line))
    else:
        stderr().print("there was nothing to import")
    if written:
        stdout().print(f"wrote {config}")
        if load_config(config).sandbox.packages:
            stderr().print("then: `gristmill packages install` downloads the packages", style="dim")
        stderr().print("next: `gristmill doctor` to check it, `gristmill install CLIENT` to make a client use it", style="dim")
    elif done.diff:
        stdout().print(neutralize_text(done.diff), end="")
        stderr().print("nothing was written", style="dim")
