"""A server of the official SDK that returns lists and scalars: code gets the values, and stubs describe them."""

import sys
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import StoreConfig

pytestmark = pytest.mark.anyio

SERVER = '''
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

app = MCPServer("pam")


class SearchOutput(BaseModel):
    result: list[int]


@app.tool()
def get_expenses(count: int) -> list[dict[str, int]]:
    """Lists expenses."""
    return [{"amount": number} for number in range(count)]


@app.tool()
def count_expenses() -> int:
    """Counts."""
    return 711


@app.tool()
def search() -> SearchOutput:
    """Returns an object that really has the field result."""
    return SearchOutput(result=[1])


app.run()
'''


async def test_code_gets_what_the_function_returned(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    pam = ServerConfig(command=sys.executable, args=(str(script),))
    config = Config(store=StoreConfig(path=tmp_path / "state"), servers={"pam": pam}, policy={"default": "allow"})  # pyright: ignore[reportArgumentType]
    async with Runtime.open(config) as runtime:
        await runtime.list_tools("pam")
        code = (
            "from servers import pam\n[len(pam.get_expenses(count=711)), pam.count_expenses(), pam.search()['result'],"
            " sum(e['amount'] for e in pam.get_expenses(count=3))]"
        )
        outcome = await runtime.execute(code)
        assert (outcome.status, outcome.result) == ("ok", [711, 711, [1], 3]), outcome.error
        stub = await runtime.describe(["pam.get_expenses"])
        assert "list[" in str(stub)


async def test_a_search_right_after_opening_waits_for_the_servers(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    pam = ServerConfig(command=sys.executable, args=(str(script),))
    async with Runtime.open(Config(store=StoreConfig(path=tmp_path / "state"), servers={"pam": pam})) as runtime:
        found = await runtime.search("list expenses")
    assert "pam.get_expenses" in [hit.tool.key for hit in found.hits]
