"""``gristmill install`` and ``gristmill uninstall``: add our entry to a client's configuration, or remove it."""

import difflib
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from gristmill.config.atomic_write import resolve_file
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.sources import DEFAULT_FILE, find_user_file
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError, NotFound
from gristmill.mcp_configs import install_entry as work
from gristmill.mcp_configs import our_entry as entries
from gristmill.mcp_configs.client_places import Machine, McpClient, list_clients
from gristmill.mcp_configs.install_entry import FileChange, find_backups
from gristmill.mcp_configs.our_entry import is_temporary
from gristmill.runtime.tools.discovery import Discovery, ServerRow
from gristmill.serve.cli.ask_discovery import ask_discovery_with
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout, style_parts
from gristmill.serve.cli.verb_options import ConfigFile

CLIENTS = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini-cli", "zed", "goose")

ClientArgument = Annotated[
    str, typer.Argument(help=f"One of {', '.join(CLIENTS)}.", metavar="CLIENT", autocompletion=lambda: list(CLIENTS))
]
Project = Annotated[bool, typer.Option("--project", help="Change the project file in this folder, not your own.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


def install(
    client: ClientArgument,
    project: Project = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Remove the client's own entries for servers that answer through Gristmill (starts them)."
        ),
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the servers, with --replace.", min=0)] = 30.0,
    uvx: Annotated[
        bool, typer.Option("--uvx", help="Let the client start `uvx gristmill` instead of this installed program.")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Add Gristmill to a client's configuration. A backup is written next to it; `gristmill uninstall` restores it.

    Example: `gristmill install claude-code --dry-run`
    """
    machine, chosen, file = _find_client_file(client, project=project)
    scope = "project" if project else "user"
    settings = _load_own_config(config)
    served, silent = _ask_servers(settings[1], wait) if replace and settings[1] is not None else ({}, {})
    started = entries.build_command(
        executable=None if uvx else _find_executable(machine), config=settings[0], client=chosen, scope=scope
    )  # fmt: skip
    change = work.plan_install(chosen, file, entries.build_entry(chosen, started), served=served)
    if not dry_run:
        work.apply_install(change)
    _print_change(change, chosen, json=json, written=not dry_run, verb="install")
    for name, error in silent.items() if not json else ():
        stderr().print(
            neutralize_text(f"  {name} did not answer, so {chosen.title} keeps its own entry for it: {error}"), style="yellow"
        )


def uninstall(client: ClientArgument, project: Project = False, dry_run: DryRun = False, json: Json = False) -> None:
    """Remove Gristmill from a client's configuration. Restores the old file if nothing else changed.

    Otherwise it removes our entry and puts back the entries that `install --replace` had removed.

    Example: `gristmill uninstall claude-code`
    """
    _, chosen, file = _find_client_file(client, project=project)
    change = work.plan_removal(chosen, file)
    if not dry_run:
        work.apply_removal(change)
    _print_change(change, chosen, json=json, written=not dry_run, verb="uninstall")


def _find_client_file(name: str, *, project: bool) -> tuple[Machine, McpClient, Path]:
    machine = Machine.this_machine()
    known = list_clients(machine)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=2)
        raise NotFound(f"unknown client {name[:40]!r}; choose one of {', '.join(known)}", near=near)
    file = known[name].file("project" if project else "user")
    if file is None:
        raise ConfigError(f"{known[name].title} has no project configuration: leave out --project")
    return machine, known[name], resolve_file(file, within=machine.cwd if project else None)


def _load_own_config(config: Path | None) -> tuple[Path | None, Config | None]:
    """Returns the absolute path of our own configuration file and its content; None twice if there is none."""
    file = config or (Path(DEFAULT_FILE) if Path(DEFAULT_FILE).exists() else None)
    own = find_user_file()
    if file is None and own is not None and own.is_file():
        return None, load_config()
    if file is None:
        stderr().print(
            "there is no gristmill.toml here: code will run without tools. Run `gristmill init`, then install again.",
            style="yellow",
        )
        return None, None
    # Check the file now: with a broken one the client could not start us, and the user would not see why.
    return file.absolute(), load_config(file)


def _ask_servers(settings: Config, wait: float) -> tuple[dict[str, ServerConfig], dict[str, str]]:
    """Returns the servers that list their tools now, and why each other one does not."""

    async def look(discovery: Discovery) -> tuple[ServerRow, ...]:
        return tuple(await discovery.servers())

    if not settings.servers:
        return {}, {}
    rows = ask_discovery_with(settings, look, wait=wait, again=True)
    ready = {row.name for row in rows if row.state == "ready"}
    silent = {row.name: row.error or f"not ready within {wait:g} s" for row in rows if row.name not in ready}
    return {name: server for name, server in settings.servers.items() if name in ready}, silent


def _find_executable(machine: Machine) -> Path | None:
    """Returns the path of our program, or None if it is in a temporary place; then the client starts us with ``uvx``."""

    beside = Path(sys.executable).with_name("gristmill.exe" if machine.platform == "windows" else "gristmill")
    on_path = shutil.which("gristmill")
    for candidate in (beside, Path(on_path) if on_path else None):
        if candidate is not None and candidate.exists() and not is_temporary(candidate.resolve()):
            return candidate.absolute()
    return None


def _print_change(change: FileChange, client: McpClient, *, json: bool, written: bool, verb: str) -> None:
    changed = change.before != change.after
    if json:
        kept = change.backup if changed and verb == "install" else None
        print_json({
            "client": client.name, "file": change.path, "changed": changed, "written": written and changed,
            "backup": kept, "replaced": list(change.replaced), "restored": list(change.restored),
            "diff": change.diff,
        })  # fmt: skip
        return
    if not changed:
        there = "is already in" if verb == "install" else "is not in"
        stderr().print(f"nothing to do: Gristmill {there} {change.path}")
        return
    if not written:
        stdout().print(neutralize_text(change.diff), end="")
        return
    done = "installed in" if verb == "install" else "removed from"
    stderr().print(style_parts((done, "green"), f" {client.title}: {change.path}"))
    if verb == "install" and change.before is None:
        stderr().print(f"  this file is new: is {client.title} installed on this machine?", style="yellow")
    for name in change.replaced:
        stderr().print(f"  {neutralize_text(name)} is now served through Gristmill")
    for name in change.restored:
        stderr().print(f"  {neutralize_text(name)} is {client.title}'s own server again")
    if verb == "install" and change.backup:
        stderr().print(f"  backup: {change.backup}")
    elif verb == "uninstall" and change.backup is None and change.after is not None and (left := find_backups(change.path)):
        stderr().print(f"  the file has changed since; its backups are kept: {', '.join(map(str, left))}")
    stderr().print(f"  restart {client.title} to apply the change", style="dim")
