"""Starts a server's program confined: through a launcher that the hall provides, with a home folder of its own."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ConfineConfig, ServerConfig
from gristmill.errors import UpstreamUnavailable
from gristmill.upstream.secret_references import SecretReferences
from gristmill.upstream.stdio.stdio_transport import ServerProgram, find_program
from gristmill.upstream.surroundings import Confine, ProgramConfinement


@asynccontextmanager
async def confine_program(
    server: str, config: ServerConfig, program: ServerProgram, secrets: SecretReferences, confine: Confine | None
) -> AsyncGenerator[ServerProgram]:
    """Yields the program unchanged, or behind its launcher if the configuration asks for confinement.

    Raises:
        UpstreamUnavailable: programs cannot be confined here, or the program is not installed.
        ConfigError: the confinement cannot be set up as configured.
    """
    if config.confine is None:
        yield program
        return
    if confine is None:
        raise UpstreamUnavailable(f"{server} is to be confined, which is not possible here; remove [servers.{server}.confine]")
    confinement = await anyio.to_thread.run_sync(_make_confinement, server, program, config.confine, secrets)
    manager = confine(confinement)
    launcher = await anyio.to_thread.run_sync(manager.__enter__)
    try:
        first, *rest = launcher.command
        own = {"HOME": str(launcher.folder), "TMPDIR": str(launcher.folder)}
        env = dict(program.env) | {name: value for name, value in own.items() if name not in config.env}
        yield replace(program, command=first, args=(*rest, confinement.program, *program.args), env=env)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(manager.__exit__, None, None, None)


def _make_confinement(
    server: str, program: ServerProgram, config: ConfineConfig, secrets: SecretReferences
) -> ProgramConfinement:
    cwd = Path.cwd() / (program.cwd or "")
    return ProgramConfinement(
        server=server,
        program=str(cwd / find_program(program)),
        path=program.env.get("PATH", os.defpath),
        cwd=cwd,
        read=tuple(secrets.resolve(path) for path in config.read),
        write=tuple(secrets.resolve(path) for path in config.write),
        network=config.network,
        user=config.user,
    )
