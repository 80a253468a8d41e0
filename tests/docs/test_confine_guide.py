"""The guide's example of a confined server, run: it works in the folder that it may write, and the walls keep it out of the other."""

import re
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest

from gristmill.config.sections.servers_section import ConfineConfig
from gristmill.config.tree import load_config
from gristmill.errors import ToolFailed
from gristmill.model import ToolCall
from gristmill.runtime.open.open_servers import open_servers
from gristmill.upstream.base import Upstreams
from gristmill.upstream.execution_callers import ExecutionCallers
from tests.servers import TOOLS

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "servers.md").read_text()
SECTION = GUIDE.partition("### Confine a program")[2].partition("\n## ")[0]


def _example(folder: Path) -> dict[str, Any]:
    """The first server of the section, with the folders of this test in place of /srv and the program where it is installed."""
    (text,) = re.findall(r"```toml\n(.*?)```", SECTION, flags=re.DOTALL)
    program = TOOLS / "node" / "node_modules" / ".bin" / "mcp-server-filesystem"
    here = text.replace("/srv", str(folder)).replace('"mcp-server-filesystem"', f'"{program}"')
    return tomllib.loads(here)["servers"]["notes"]


@pytest.mark.requirement("T41")
def test_the_example_of_the_guide_works_where_it_may_and_nowhere_else(tmp_path: Path) -> None:
    for name in ("notes", "shared"):
        (tmp_path / name).mkdir()
    config = load_config(None, store={"path": str(tmp_path / "state")}, servers={"notes": _example(tmp_path)})

    async def write(upstreams: Upstreams, folder: str) -> None:
        arguments = {"path": str(tmp_path / folder / "new.txt"), "content": "made"}
        await upstreams(ToolCall(id=1, tool="notes.write_file", arguments=arguments))

    async def main() -> None:
        with anyio.fail_after(60):
            async with open_servers(config, {}, ExecutionCallers()) as upstreams:
                await write(upstreams, "notes")
                with pytest.raises(ToolFailed, match="EACCES"):
                    await write(upstreams, "shared")

    anyio.run(main)
    assert (tmp_path / "notes" / "new.txt").read_text() == "made"
    assert not (tmp_path / "shared" / "new.txt").exists()


@pytest.mark.parametrize("key", ConfineConfig.model_fields)
def test_every_wall_is_in_the_guide(key: str) -> None:
    assert f"| `{key}` |" in SECTION
