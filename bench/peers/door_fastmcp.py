"""FastMCP's code mode for ``bench/door.py``: ``stdio`` serves it, ``memory COUNT PAUSE`` times its own client in process.

Runs in FastMCP's environment, so it imports nothing of ours.
"""

import asyncio
import json
import sys
import time

from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode


def echo(x: int) -> int:
    return x


mcp = FastMCP("bench", transforms=[CodeMode(max_tool_calls=None)])
mcp.tool(echo)


async def memory(count: int, pause: float) -> None:
    times: dict[str, list[float]] = {"empty": [], "one_call": []}
    async with Client(mcp) as client:
        for number in range(count + 10):
            for name, code in (("empty", "return 1"), ("one_call", 'return await call_tool("echo", {"x": 1})')):
                started = time.perf_counter()
                await client.call_tool("execute", {"code": code})
                elapsed = time.perf_counter() - started
                await asyncio.sleep(pause)
                if number >= 10:
                    times[name].append(elapsed)
    print(json.dumps(times))


if sys.argv[1] == "stdio":
    mcp.run(transport="stdio", show_banner=False, log_level="ERROR")
else:
    asyncio.run(memory(int(sys.argv[2]), float(sys.argv[3])))
