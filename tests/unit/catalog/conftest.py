"""What the tests of this room share: real definitions, and stubs imported as an agent's program would import them."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.module_files import write_stubs
from gristmill.model import Json, Tool

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "tests" / "data" / "real_tools_sample.jsonl"
FEWEST_REAL_TOOLS = 1_000
"""With fewer definitions than this, a share of them proves nothing."""


def _tool(server: str, entry: dict[str, Any]) -> Tool:
    return Tool(
        server=server,
        name=entry["name"],
        title=entry.get("title"),
        description=entry.get("description") or "",
        input_schema=entry["inputSchema"],
        output_schema=entry.get("outputSchema"),
        annotations=entry.get("annotations") or {},
    )


@pytest.fixture(scope="session")
def sample_tools() -> list[Tool]:
    """Sixty real definitions that are each hard in some way."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    return [_tool(entry["server"], entry) for entry in map(json.loads, lines)]


@pytest.fixture(scope="session")
def real_tools() -> list[Tool]:
    """Every real definition there is, from the shared benchmark data."""
    folder = os.environ.get("GRISTMILL_BENCH_DATA")
    path = (Path(folder) if folder else ROOT.parent / "shared" / "bench") / "real_tools.jsonl"
    if not path.is_file():
        pytest.skip(f"the benchmark data is not here ({path.name}); set GRISTMILL_BENCH_DATA to its folder")
    with path.open(encoding="utf-8") as lines:
        tools = [_tool(server["server"], entry) for server in map(json.loads, lines) for entry in server["tools"]]
    if len(tools) < FEWEST_REAL_TOOLS:
        pytest.skip(f"{path.name} holds only {len(tools)} definitions; shares of so few say nothing")
    return tools


@pytest.fixture
def import_stubs(tmp_path: Path) -> Iterator[Callable[[Catalog], ModuleType]]:
    """Write the stubs of a catalog and import them; ``call_mcp_tool`` answers with what it was given."""

    def call_mcp_tool(tool: str, arguments: dict[str, Json]) -> tuple[str, dict[str, Json]]:
        return tool, arguments

    client = ModuleType("mcp_client")
    client.__dict__["call_mcp_tool"] = call_mcp_tool
    added: list[str] = []

    def load(catalog: Catalog) -> ModuleType:
        _forget()
        sys.modules["mcp_client"] = client
        added.append(str(write_stubs(catalog, tmp_path)))
        sys.path.insert(0, added[-1])
        importlib.invalidate_caches()
        return importlib.import_module("servers")

    yield load
    _forget()
    for path in added:
        sys.path.remove(path)


def _forget() -> None:
    for name in [name for name in sys.modules if name == "mcp_client" or name.split(".")[0] == "servers"]:
        del sys.modules[name]
