"""A program within walls: it is started through a launcher that the hall provides, with a home of its own. Beside `stdio`."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ConfineConfig, ServerConfig
from gristmill.errors import UpstreamUnavailable
from gristmill.upstream.secret_references import Secrets
from gristmill.upstream.stdio.stdio_transport import Program, found_program
from gristmill.upstream.surroundings import Confine, Walls


@asynccontextmanager
async def confined(
    server: str, config: ServerConfig, program: Program, secrets: Secrets, confine: Confine | None
) -> AsyncGenerator[Program]:
    """The program as it is, or behind its launcher where the configuration wants walls around it.

    Raises:
        UpstreamUnavailable: nobody here can put walls up, or the program is not there.
        ConfigError: the walls cannot be as the configuration wants them.
    """
    if config.confine is None:
        yield program
        return
    if confine is None:
        raise UpstreamUnavailable(f"{server} is to be confined, and nothing here can do that; remove [servers.{server}.confine]")
    walls = await anyio.to_thread.run_sync(_walls, server, program, config.confine, secrets)
    around = confine(walls)
    launcher = await anyio.to_thread.run_sync(around.__enter__)
    try:
        first, *rest = launcher.command
        own = {"HOME": str(launcher.folder), "TMPDIR": str(launcher.folder)}
        env = dict(program.env) | {name: value for name, value in own.items() if name not in config.env}
        yield replace(program, command=first, args=(*rest, walls.program, *program.args), env=env)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(around.__exit__, None, None, None)


def _walls(server: str, program: Program, config: ConfineConfig, secrets: Secrets) -> Walls:
    cwd = Path.cwd() / (program.cwd or "")
    return Walls(
        server=server,
        program=str(cwd / found_program(program)),
        path=program.env.get("PATH", os.defpath),
        cwd=cwd,
        read=tuple(secrets.resolve(path) for path in config.read),
        write=tuple(secrets.resolve(path) for path in config.write),
        network=config.network,
    )
