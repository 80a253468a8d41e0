"""What the plain-process peers share: a new interpreter per run, the shim for tools and results."""

import asyncio
import json
import subprocess

import speak
import toolset
from corpus import AGGREGATE

CALLS = """
import time
from servers import bench
times = []
for n in range({count}):
    started = time.perf_counter()
    bench.echo(x=n)
    times.append(time.perf_counter() - started)
times
"""
ROWS = "from servers import bench" + AGGREGATE.replace("ROWS", "bench.rows()") + "totals"


class ProcessPeer(speak.Peer):
    """``prefix`` is the command that starts an interpreter."""

    def __init__(self, prefix):
        self.prefix = prefix

    async def fresh(self, code):
        await speak.run_process([*self.prefix, "-c", code])

    def _shim(self, mode):
        return [*self.prefix, str(speak.HERE / "shim.py"), str(speak.HERE), mode, speak.packages_folder()]

    async def snippet(self, code):
        out = await speak.run_process(self._shim("snippet"), code.encode())
        return json.loads(out)["result"]

    async def calls(self, count):
        return await self._with_tools(CALLS.format(count=count))

    async def rows(self):
        return await self._with_tools(ROWS)

    async def _with_tools(self, code):
        process = await asyncio.create_subprocess_exec(
            *self._shim("pipe"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, limit=1 << 26
        )
        process.stdin.write(json.dumps(code).encode() + b"\n")
        try:
            while True:
                message = json.loads(await process.stdout.readline())
                if isinstance(message, dict):
                    return message["result"]
                tool, arguments = message
                process.stdin.write(json.dumps(toolset.TOOLS[tool](**arguments)).encode() + b"\n")
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
