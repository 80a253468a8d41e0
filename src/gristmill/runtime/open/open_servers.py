"""Opens the upstreams and the library that a configuration asks for. Light: no sandbox is opened or loaded."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.catalog.answers.render_hits import estimate_tokens
from gristmill.config.sections.servers_section import RESERVED_NAMES
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.runtime.calls.learn_from_calls import LearnFromCalls, ShapeLearning, UsageLearning
from gristmill.runtime.calls.save_media import SaveMedia
from gristmill.runtime.calls.tool_layers import ToolLayers
from gristmill.runtime.open.confine_servers import build_confine
from gristmill.runtime.open.open_secrets import load_keyring, read_secret
from gristmill.runtime.open.server_logs import find_log_file
from gristmill.runtime.open.state_folders import make_state_folder
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.pinning import DefinitionPinning, HoldBackChanged, find_no_origin
from gristmill.runtime.tools.tool_library import LearnedKnowledge, ToolLibrary
from gristmill.upstream.base import Upstream, Upstreams
from gristmill.upstream.changing_servers import ChangingServers
from gristmill.upstream.execution_callers import ExecutionCallers
from gristmill.upstream.login.token_store import TokenStore, choose_token_store
from gristmill.upstream.open_upstreams import Surroundings, open_upstreams
from gristmill.upstream.python_functions import PythonFunctions

if TYPE_CHECKING:
    from gristmill.upstream.python_functions import Function


@asynccontextmanager
async def open_discovery(config: Config) -> AsyncGenerator[Discovery]:
    """Opens only what is needed to find tools; no sandbox is opened."""
    callers = ExecutionCallers()
    async with open_servers(config, {}, callers) as upstreams, open_library(config, upstreams, callers) as library:
        # For one question a cautious estimate of tokens is enough, and it loads no tokenizer.
        yield Discovery(upstreams, library, count=estimate_tokens)


@asynccontextmanager
async def open_servers(
    config: Config, tools: "Mapping[str, Function]", callers: ExecutionCallers, *, serving: bool = False
) -> AsyncGenerator[Upstreams]:
    """Opens the configured servers, and the Python functions that the embedding application brought.

    A runtime that is ``serving`` may get other servers later, even if it has none at first.
    """
    ours = _build_function_servers(tools)
    if not config.servers and not serving:
        yield Upstreams(ours)
        return
    world = Surroundings(
        environ=dict(os.environ),
        env_pass=config.programs.env_pass,
        find_log=partial(find_log_file, config.state_dir) if config.programs.log_kb else None,
        log_bytes=config.programs.log_kb << 10,
        cache=make_state_folder(config.state_dir / "upstreams"),
        keyring=partial(read_secret, config.state_dir),
        open_token_store=partial(open_token_store, config.state_dir),
        emit=callers.emit,
        has_listener=callers.has_listener,
        confine=build_confine(config.state_dir),
        ask=callers.ask,
    )
    async with open_upstreams(config.servers, world, others=ours) as upstreams:
        yield upstreams


@asynccontextmanager
async def open_library(config: Config, upstreams: Upstreams, callers: ExecutionCallers) -> AsyncGenerator[ToolLibrary]:
    """Opens the catalogue over ``upstreams``, with everything that is known about their tools."""
    catalog, known = config.catalog, config.state_dir / "known"

    def is_ours(name: str) -> bool:
        return name in upstreams and upstreams[name].status.kind == "python"

    find_origin = upstreams.find_origin if isinstance(upstreams, ChangingServers) else find_no_origin
    knowledge = LearnedKnowledge(
        pinning=DefinitionPinning(known / "pins.json", is_ours, find_origin),
        holds_back=catalog.quarantine == "refuse",
        shapes=ShapeLearning(known / "learned.json") if catalog.learn_results else None,
        usage=UsageLearning(known / "habits.json") if catalog.learn_from_use else None,
        rankers=tuple(catalog.rankers),
        emit=callers.listener,
    )
    library = ToolLibrary(upstreams, make_state_folder(config.state_dir / "catalog"), knowledge)
    callers.on_listed = library.refresh
    try:
        yield library
    finally:
        await library.close()


def build_tool_layers(config: Config, library: ToolLibrary) -> ToolLayers:
    """Builds the layers that use what is known about tools."""
    held = HoldBackChanged(library.is_accepted) if config.catalog.quarantine == "refuse" else None
    learn = LearnFromCalls(lambda: library.catalog, library.shapes, library.usage, config.catalog.learn_from_tenants)
    return ToolLayers(
        hold_back=held,
        learn=learn if library.shapes or library.usage else None,
        media=SaveMedia(cap=config.sandbox.limits.file_mb << 20),
    )


def open_token_store(state: Path, server: str) -> TokenStore:
    """Returns the store of the tokens of ``server``: the keyring if there is one, else an encrypted file in the state folder."""
    return choose_token_store(state / "tokens", load_keyring())(server)


def _build_function_servers(tools: "Mapping[str, Function]") -> tuple[Upstream, ...]:
    if not tools:
        return ()
    return tuple(PythonFunctions(server, named, cheap=True) for server, named in group_by_server(tools).items())


def group_by_server(tools: "Mapping[str, Function]") -> "dict[str, dict[str, Function]]":
    """Groups functions by their server.

    Raises:
        ConfigError: a key is not of the form server.tool, or the server's name is reserved.
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
