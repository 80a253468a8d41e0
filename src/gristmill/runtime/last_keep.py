"""Keeps the catalogue of a search for the next one that starts cold; `last` reads it.

What is kept must be what the files say, not what this process once read: each file is stamped first, then compared.
"""

import asyncio
import json
import logging
from itertools import accumulate
from typing import Any

from gristmill.catalog.catalog import definition
from gristmill.catalog.pins.pinned_definitions import changes, load_pins
from gristmill.config.tree import Config
from gristmill.runtime.last import PINS, Stamp, path_of, stamps
from gristmill.runtime.tools.kept_json import write_whole
from gristmill.runtime.tools.tool_library import Library, Searchable, forget, index_name
from gristmill.upstream.base import Upstreams
from gristmill.upstream.remembered_tools import load

log = logging.getLogger(__name__)


async def keep_last(config: Config, key: str, upstreams: Upstreams, library: Library) -> None:
    """Keep what a search needs, for the configuration that ``key`` stands for; or nothing, where it would not be the same."""
    servers = {name: server for name, server in config.servers.items() if server.enabled}
    in_code = any(server.kind == "python" for server in servers.values())  # whose tools only importing it can tell
    if in_code or config.catalog.rankers or config.store.url is not None or not len(library.visible):
        return
    searchable = await library.searchable()
    await library.saved()
    stamped = stamps(config.state_dir, [PINS, *(f"upstreams/{name}.json" for name in servers)])
    catalog, held = library.catalog, library.held
    if library.visible is not searchable.catalog:
        return

    def work() -> None:
        changed = frozenset(change.key for change in changes(load_pins(config.state_dir / PINS), catalog))
        listed = all(load(config.state_dir / "upstreams", name, servers[name]).tools == upstreams[name].tools for name in servers)
        if changed == held and listed:
            _write(config, key, stamped, searchable)

    await asyncio.to_thread(work)


def _write(config: Config, key: str, stamped: list[Stamp], searchable: Searchable) -> None:
    lines = [json.dumps(definition(tool), separators=(",", ":")).encode("ascii") for tool in searchable.catalog]
    head = {"key": key, "stamps": stamped, "last": _last(config, searchable, lines)}
    path = path_of(config.state_dir, key)
    try:
        write_whole(path, [json.dumps(head, separators=(",", ":")).encode("ascii"), b"\n", *lines])
        forget(path.parent, "last-*.json")
    except OSError as error:
        log.warning("the catalogue is not kept for the next search: %s", error.strerror)


def _last(config: Config, searchable: Searchable, lines: list[bytes]) -> dict[str, Any]:
    """What a `Last` is made of, but for the lines themselves."""
    catalog = searchable.catalog
    return {
        "modules": dict(catalog.modules),
        "functions": {key: catalog.functions[key] for key in catalog.tools},
        "marks": dict(searchable.marks),
        "learn_results": config.catalog.learn_results,
        "learn_from_use": config.catalog.learn_from_use,
        "index_name": index_name(catalog),
        "made_from": searchable.index.made_from,
        "ends": list(accumulate(len(line) for line in lines)),
    }
