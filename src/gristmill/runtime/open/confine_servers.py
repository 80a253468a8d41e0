"""Where the servers' room meets the sandbox's: a server that is to be confined gets its launcher from here."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gristmill.upstream.surroundings import Confine, Launcher, Walls


def confine_from(*hidden: Path) -> Confine:
    """Puts walls around servers that never open the folders in ``hidden``."""

    @contextmanager
    def confine(walls: Walls) -> Generator[Launcher]:
        from gristmill.sandbox.confine.confine_server import Confinement, launcher  # whoever confines no server does not load it

        wanted = Confinement(
            server=walls.server,
            program=walls.program,
            path=walls.path,
            cwd=walls.cwd,
            read=walls.read,
            write=walls.write,
            network=walls.network,
            hidden=hidden,
        )
        with launcher(wanted) as (command, folder):
            yield Launcher(command=command, folder=folder)

    return confine
