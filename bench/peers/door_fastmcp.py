"""FastMCP's code mode for ``bench/door.py`` and ``bench/http.py``: ``stdio`` and ``http`` serve it, ``memory COUNT PAUSE`` times
its own client in process.

Runs in FastMCP's environment, so it imports nothing of ours.
"""

import asyncio
import json
import socket
import sys
import time

import uvicorn
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


def http() -> None:
    """On a free port, in its leanest form: no sessions, answers as plain JSON, no line of log per request."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    app = mcp.http_app(stateless_http=True, json_response=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listening])


if sys.argv[1] == "stdio":
    mcp.run(transport="stdio", show_banner=False, log_level="ERROR")
elif sys.argv[1] == "http":
    http()
else:
    asyncio.run(memory(int(sys.argv[2]), float(sys.argv[3])))
