"""FastMCP's code mode: its ``execute`` tool called in process, with local tools, which is the fastest way it has."""

import json
import time

import speak
import toolset
from corpus import AGGREGATE
from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

PREAMBLE = """
async def {name}(**arguments):
    answer = await call_tool("{name}", arguments)
    return answer["result"] if "result" in answer else answer
"""


def server(extra=0):
    """A server in code mode with our tools, and ``extra`` more."""
    mcp = FastMCP("bench", transforms=[CodeMode(max_tool_calls=None)])
    for key, function in toolset.TOOLS.items():
        mcp.tool(function, name=key.replace(".", "_"))
    for number in range(extra):
        mcp.tool(toolset.filler, name=f"filler_{number}")
    return mcp


class Code(speak.Peer):
    """One ``execute`` per run."""

    async def open(self):
        self.mcp = server()
        self.crowded = None

    async def _execute(self, code, mcp=None):
        done = await (mcp or self.mcp).call_tool("execute", {"code": code})
        text = "".join(part.text for part in done.content)
        return json.loads(text) if text else None

    async def fresh(self, code):
        await self._execute(code)

    async def snippet(self, code):
        text = speak.rename_tools(code, awaited=True)
        names = {key.replace(".", "_") for key in toolset.TOOLS}
        used = [PREAMBLE.format(name=name) for name in sorted(names) if f"{name}(" in text]
        return await self._execute("".join(used) + text)

    async def calls(self, count):
        return [await self._mean(count, self.mcp)]

    async def calls_of_3000(self, count):
        self.crowded = self.crowded or server(extra=3_000 - len(toolset.TOOLS))
        return [await self._mean(count, self.crowded)]

    async def _mean(self, count, mcp):
        started = time.perf_counter()
        await self._execute(f'for n in range({count}):\n    await call_tool("bench_echo", {{"x": n}})', mcp)
        return (time.perf_counter() - started) / count

    async def parallel(self):
        code = 'import asyncio\nanswers = await asyncio.gather(*[call_tool("bench_slow", {"i": i}) for i in range(100)])\n'
        code += 'return [answer["result"] for answer in answers]'
        return await self._execute(code)

    async def rows(self):
        code = AGGREGATE.replace("ROWS", '(await call_tool("bench_rows", {}))["result"]')
        return await self._execute(code + "return totals")


if __name__ == "__main__":
    speak.main(Code(), notes="execute called in process, local tools; runs pydantic-monty, a subset of Python")
