"""Connects the servers' room with the sandbox's: a server that is to be confined gets its launcher from here."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gristmill.sandbox.confine.confine_server import Confinement, open_launcher
from gristmill.upstream.surroundings import Confine, ConfiningLauncher, ProgramConfinement


def build_confine(*hidden: Path) -> Confine:
    """Returns what confines servers; none of them can open the folders in ``hidden``."""

    @contextmanager
    def confine(walls: ProgramConfinement) -> Generator[ConfiningLauncher]:
        wanted = Confinement(
            server=walls.server,
            program=walls.program,
            path=walls.path,
            cwd=walls.cwd,
            read=walls.read,
            write=walls.write,
            network=walls.network,
            user=walls.user,
            hidden=hidden,
        )
        with open_launcher(wanted) as (command, folder):
            yield ConfiningLauncher(command=command, folder=folder)

    return confine
