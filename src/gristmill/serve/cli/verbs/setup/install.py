"""``gristmill install`` and ``gristmill uninstall``: our own entry in another client's configuration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.mcp_configs.client_places import Client, Machine
    from gristmill.mcp_configs.install_entry import Change

CLIENTS = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini-cli", "zed", "goose")

ClientArgument = Annotated[
    str, typer.Argument(help=f"One of {', '.join(CLIENTS)}.", metavar="CLIENT", autocompletion=lambda: list(CLIENTS))
]
Project = Annotated[bool, typer.Option("--project", help="The file of the project in this folder, not the user's own.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


def install(
    client: ClientArgument,
    project: Project = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take out the client's own entries for servers that are served through Gristmill.")
    ] = False,
    uvx: Annotated[bool, typer.Option("--uvx", help="Start by `uvx gristmill`, not by the program that runs now.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Write Gristmill into a client's configuration. A backup is kept beside it; `gristmill uninstall` puts it back.

    Example: `gristmill install claude-code --dry-run`
    """
    from gristmill.mcp_configs import install_entry as work
    from gristmill.mcp_configs import our_entry as entries

    machine, chosen, file = _chosen(client, project=project)
    scope = "project" if project else "user"
    settings = _settings(config, needed=replace)
    started = entries.command(
        executable=None if uvx else _executable(machine), config=settings[0], client=chosen, scope=scope
    )  # fmt: skip
    change = work.installing(chosen, file, entries.entry(chosen, started), served=settings[1] if replace else None)
    if not dry_run:
        work.install(change)
    _tell(change, chosen, json=json, written=not dry_run, verb="install")


def uninstall(client: ClientArgument, project: Project = False, dry_run: DryRun = False, json: Json = False) -> None:
    """Take Gristmill out of a client's configuration: byte for byte as before if nothing else has changed, else only our entry.

    Example: `gristmill uninstall claude-code`
    """
    from gristmill.mcp_configs import install_entry as work

    _, chosen, file = _chosen(client, project=project)
    change = work.removing(chosen, file)
    if not dry_run:
        work.uninstall(change)
    _tell(change, chosen, json=json, written=not dry_run, verb="uninstall")


def _chosen(name: str, *, project: bool) -> "tuple[Machine, Client, Path]":
    import difflib

    from gristmill.config.atomic_write import real_file
    from gristmill.errors import ConfigError, NotFound
    from gristmill.mcp_configs.client_places import Machine, clients

    machine = Machine.here()
    known = clients(machine)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=2)
        raise NotFound(f"there is no client {name[:40]!r}; known are {', '.join(known)}", near=near)
    file = known[name].file("project" if project else "user")
    if file is None:
        raise ConfigError(f"{known[name].title} has no configuration per project: leave out --project")
    return machine, known[name], real_file(file, within=machine.cwd if project else None)


def _settings(config: Path | None, *, needed: bool) -> tuple[Path | None, Any]:
    """Our own configuration file, absolute, and the servers in it."""
    from gristmill.config.tree import DEFAULT_FILE, load_config
    from gristmill.serve.cli.terminal.safe_output import stderr

    file = config or (Path(DEFAULT_FILE) if Path(DEFAULT_FILE).exists() else None)
    if file is None:
        stderr().print(
            "there is no gristmill.toml here: code will run, without tools. `gristmill init` makes one; then install again.",
            style="yellow",
        )
        return None, {}
    # A file that cannot be used would make the client's start fail, where nobody sees why.
    servers = load_config(file).servers
    return file.absolute(), servers if needed else {}


def _executable(machine: "Machine") -> Path | None:
    """Our program, when it lies where it will lie tomorrow; else the client is to start us by ``uvx``."""
    import shutil
    import sys

    from gristmill.mcp_configs.our_entry import is_passing

    beside = Path(sys.executable).with_name("gristmill.exe" if machine.platform == "windows" else "gristmill")
    on_path = shutil.which("gristmill")
    for candidate in (beside, Path(on_path) if on_path else None):
        if candidate is not None and candidate.exists() and not is_passing(candidate.resolve()):
            return candidate.absolute()
    return None


def _tell(change: "Change", client: "Client", *, json: bool, written: bool, verb: str) -> None:
    from gristmill.mcp_configs.install_entry import backups
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stderr, stdout

    changed = change.before != change.after
    if json:
        kept = change.backup if changed and verb == "install" else None
        print_json({
            "client": client.name, "file": change.path, "changed": changed, "written": written and changed,
            "backup": kept, "replaced": list(change.replaced), "diff": change.diff,
        })  # fmt: skip
        return
    if not changed:
        there = "is already in" if verb == "install" else "is not in"
        stderr().print(f"nothing to do: Gristmill {there} {change.path}", markup=False)
        return
    if not written:
        stdout().print(harmless(change.diff), markup=False, end="")
        return
    done = "installed in" if verb == "install" else "removed from"
    stderr().print(f"[green]{done}[/] {client.title}: {change.path}")
    if verb == "install" and change.before is None:
        stderr().print(f"  there was no such file before: is {client.title} on this machine?", style="yellow")
    for name in change.replaced:
        stderr().print(f"  {harmless(name)} is served through Gristmill now", markup=False)
    if verb == "install" and change.backup:
        stderr().print(f"  backup: {change.backup}", markup=False)
    elif verb == "uninstall" and change.backup is None and change.after is not None and (left := backups(change.path)):
        stderr().print(
            f"  the file was changed since: only our entry was taken out; backups: {', '.join(map(str, left))}", markup=False
        )
    stderr().print(f"  restart {client.title} to make it so", style="dim")
