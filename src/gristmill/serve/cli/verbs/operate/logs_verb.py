"""``gristmill logs``: shows what the program of a tool server wrote to standard error."""

import time
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from gristmill.config.tree import load_config
from gristmill.runtime.open.server_logs import find_log_file, list_logs, read_server_log
from gristmill.serve.cli.terminal.print_tables import Column, format_time, print_table
from gristmill.serve.cli.terminal.safe_output import print_json, print_text, stderr
from gristmill.serve.cli.verb_options import ConfigFile, Json

LOOK_SECONDS = 0.5


def logs(
    server: Annotated[str | None, typer.Argument(help="The server; without one, the logs that there are.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many lines to show.", min=0)] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines are written, until Ctrl-C.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show what the program of a server wrote to standard error, in every gateway that ran it.

    Secrets of the configuration are masked. `programs.log_kb` says how much is kept.

    Example: `gristmill logs github -n 20`
    """
    settings = load_config(config)
    if server is None:
        found = list_logs(settings)
        if json:
            print_json([to_builtins(each) for each in found])
            return
        columns = (Column(title="server", kind="fixed"), Column(title="written (UTC)"), Column(title="bytes", kind="number"))
        if not found:
            stderr().print("no program of a server has written anything yet", style="dim")
        print_table(columns, [(each.server, format_time(each.written), f"{each.bytes:,}") for each in found])
        return
    kept = read_server_log(settings, server, lines)
    if json:
        print_json({"server": server, "lines": kept})
        return
    for line in kept:
        print_text(line)
    if not kept and not follow:
        stderr().print("nothing was written; servers over HTTP keep their logs where they run", style="dim")
    if follow:
        _follow_file(find_log_file(settings.state_dir, server))


def _follow_file(path: Path) -> None:
    """Prints what is appended to a file, without end; a new file of that name is read from its beginning."""
    place, inode = (path.stat().st_size, path.stat().st_ino) if path.exists() else (0, 0)
    try:
        while True:
            time.sleep(LOOK_SECONDS)
            if not path.exists():
                continue
            state = path.stat()
            place, inode = (place, inode) if state.st_ino == inode else (0, state.st_ino)
            with path.open("rb") as file:
                file.seek(place)
                text = file.read()
            place += len(text)
            if text:
                print_text(text.decode(errors="replace").rstrip("\n"))
    except KeyboardInterrupt:
        return
