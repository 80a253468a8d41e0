"""The upstreams and the library as a configuration asks for them. Light: finding tools opens no sandbox and loads none."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.catalog.search.load_rankers import ranker
from gristmill.catalog.search.render_hits import bytes_per_three
from gristmill.config.sections.servers_section import RESERVED_NAMES
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.runtime.calls.learn_from_calls import LearnFromCalls, Shapes, Usage
from gristmill.runtime.calls.save_media import SaveMedia
from gristmill.runtime.calls.tool_layers import KnownTools
from gristmill.runtime.open.confine_servers import confine_from
from gristmill.runtime.open.state_folders import state_folder
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.pinning import HoldBack, Pinning
from gristmill.runtime.tools.tool_library import Knowledge, Library
from gristmill.upstream.base import Upstream, Upstreams
from gristmill.upstream.execution_callers import Callers
from gristmill.upstream.login.token_store import TokenStore, choose_tokens

if TYPE_CHECKING:
    from gristmill.upstream.login.system_keyring import SystemKeyring
    from gristmill.upstream.python_functions import Function


@asynccontextmanager
async def open_discovery(config: Config) -> AsyncGenerator[Discovery]:
    """Only what is needed to find tools: no sandbox is opened."""
    callers = Callers()
    async with open_servers(config, {}, callers) as upstreams, open_library(config, upstreams, callers) as library:
        # One question and out: a cautious count of tokens does, and loads nothing.
        yield Discovery(upstreams, library, count=bytes_per_three)


@asynccontextmanager
async def open_servers(config: Config, tools: "Mapping[str, Function]", callers: Callers) -> AsyncGenerator[Upstreams]:
    """The configured servers, and the Python functions that the embedding application brought."""
    ours = _functions(tools)
    if not config.servers:
        yield Upstreams(ours)
        return
    from gristmill.upstream.open_upstreams import World, open_upstreams

    world = World(
        environ=dict(os.environ),
        cache=state_folder(config.state_dir / "upstreams"),
        keyring=read_keyring,
        tokens=partial(token_store, config.state_dir),
        emit=callers.emit,
        heard=callers.heard,
        confine=confine_from(config.state_dir),
        ask=callers.ask,
    )
    async with open_upstreams(config.servers, world, others=ours) as upstreams:
        yield upstreams


@asynccontextmanager
async def open_library(config: Config, upstreams: Upstreams, callers: Callers) -> AsyncGenerator[Library]:
    """The catalogue over ``upstreams``, with everything that is known about their tools."""
    catalog, known = config.catalog, config.state_dir / "known"
    ours = {upstream.name for upstream in upstreams if upstream.status.kind == "python"}
    knowledge = Knowledge(
        pinning=Pinning(known / "pins.json", ours.__contains__),
        holds_back=catalog.quarantine == "refuse",
        shapes=Shapes(known / "learned.json") if catalog.learn_results else None,
        usage=Usage(known / "habits.json") if catalog.learn_from_use else None,
        ranker=partial(ranker, catalog.rankers),
        emit=callers.listener,
    )
    library = Library(upstreams, state_folder(config.state_dir / "catalog"), knowledge)
    callers.on_listed = library.refresh
    try:
        yield library
    finally:
        await library.close()


def known_tools(config: Config, upstreams: Upstreams, library: Library) -> KnownTools:
    """The layers that go by what is known about tools."""
    held = HoldBack(library.accepted, upstreams) if config.catalog.quarantine == "refuse" else None
    learn = LearnFromCalls(lambda: library.catalog, library.shapes, library.usage, config.catalog.learn_from_tenants)
    return KnownTools(
        hold_back=held,
        learn=learn if library.shapes or library.usage else None,
        media=SaveMedia(cap=config.sandbox.limits.file_mb << 20),
    )


def token_store(state: Path, server: str) -> TokenStore:
    """Where the tokens of ``server`` are kept: in the keyring if there is one, else encrypted in the state folder."""
    return choose_tokens(state / "tokens", _keyring())(server)


def read_keyring(service: str, name: str) -> str | None:
    """A secret of the keyring.

    Raises:
        ConfigError: there is no keyring here, or it cannot be read.
    """
    from gristmill.upstream.secret_references import no_keyring

    found = _keyring()
    return found.get(service, name) if found else no_keyring(service, name)


@cache
def _keyring() -> "SystemKeyring | None":
    # Only a server that refers to it pays for finding it.
    from gristmill.upstream.login.system_keyring import find_keyring

    return find_keyring()


def _functions(tools: "Mapping[str, Function]") -> tuple[Upstream, ...]:
    if not tools:
        return ()
    from gristmill.upstream.python_functions import Inproc

    return tuple(Inproc(server, named, cheap=True) for server, named in by_server(tools).items())


def by_server(tools: "Mapping[str, Function]") -> "dict[str, dict[str, Function]]":
    """The functions of each server.

    Raises:
        ConfigError: a key that is none, or a name that is taken.
    """
    found: dict[str, dict[str, Function]] = {}
    for key, function in tools.items():
        server, _, name = key.partition(".")
        if not server or not name:
            raise ConfigError(f"a tool is named server.tool, not {key!r}")
        if server in RESERVED_NAMES:
            raise ConfigError(f"{key!r}: the name {server!r} is taken by Gristmill itself; choose another")
        found.setdefault(server, {})[name] = function
    return found
