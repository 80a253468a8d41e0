"""Reads what the programs of tool servers wrote to standard error, in whichever gateway they ran."""

import difflib
from pathlib import Path

from msgspec import Struct

from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.upstream.stdio.server_log import name_older_log, read_log

FOLDER = "logs"


class ServerLogFile(Struct, frozen=True, kw_only=True):
    """The log of one server: its bytes, and when something was written last."""

    server: str
    bytes: int
    written: float


def find_log_file(state_dir: Path, server: str) -> Path:
    """Returns the path of the log of ``server``, which need not exist."""
    return state_dir / FOLDER / f"{server}.log"


def list_logs(config: Config) -> tuple[ServerLogFile, ...]:
    """Returns the logs that are kept, the one written last in front."""
    found: list[ServerLogFile] = []
    for path in (config.state_dir / FOLDER).glob("*.log"):
        if not path.name.endswith(".old.log"):
            states = [each.stat() for each in (path, name_older_log(path)) if each.exists()]
            if states:
                size, written = sum(each.st_size for each in states), max(each.st_mtime for each in states)
                found.append(ServerLogFile(server=path.stem, bytes=size, written=written))
    return tuple(sorted(found, key=lambda each: -each.written))


def read_server_log(config: Config, server: str, most_lines: int) -> list[str]:
    """Returns the last lines that the program of ``server`` wrote.

    Raises:
        NotFound: there is no such server, neither in the configuration nor among the logs.
    """
    known = {*config.servers, *(each.server for each in list_logs(config))}
    if server not in known:
        raise NotFound(
            f"there is no server {server[:80]!r}, and no log of one", near=difflib.get_close_matches(server, known, n=3)
        )
    return read_log(find_log_file(config.state_dir, server), most_lines)
