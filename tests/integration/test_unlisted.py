"""A server that never came up: every call to it says why, the first and those while it is tried again."""

import sys
from pathlib import Path

from gristmill import BlockingRuntime, Config
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import SandboxConfig, StoreConfig

THRICE = """
from mcp_client import ToolError, call_mcp_tool

said = []
for _ in range(3):
    try:
        call_mcp_tool("crm.add", {})
    except ToolError as error:
        said.append(str(error))
said
"""


def test_a_call_to_a_server_that_keeps_failing_says_why_every_time(tmp_path: Path) -> None:
    server = ServerConfig(command=sys.executable, args=("-c", "raise SystemExit('the licence has expired')"))
    config = Config(servers={"crm": server}, sandbox=SandboxConfig(warm=0), store=StoreConfig(path=tmp_path))
    with BlockingRuntime(config) as runtime:
        outcome = runtime.execute(THRICE)
        again = runtime.execute(THRICE)
    assert outcome.success, outcome.error
    said = [*outcome.result, *again.result]
    assert len(said) == 6
    assert all("the licence has expired" in words for words in said), said
