"""smolagents' LocalPythonExecutor: a Python interpreter written in Python, in the host's own process."""

import asyncio
import sys
import time

import speak
import toolset
from corpus import AGGREGATE

sys.path.append(speak.packages_folder())
from smolagents.local_python_executor import LocalPythonExecutor

PURE = (
    "asyncio base64 bisect contextlib csv dataclasses decimal enum fractions functools hashlib heapq io json logging operator"
    " string textwrap typing uuid zoneinfo"
).split()


def blocking(function):
    """Tools are plain functions there."""
    if asyncio.iscoroutinefunction(function):
        return lambda **arguments: asyncio.run(function(**arguments))
    return function


class Smol(speak.Peer):
    """A new executor per run; its default imports plus the pure modules of the standard library, and pandas."""

    def _executor(self):
        try:
            __import__("pandas")
            more = [*PURE, "pandas", "numpy", "pandas.*"]
        except ImportError:
            more = PURE
        executor = LocalPythonExecutor(more)
        executor.send_tools({key.replace(".", "_"): blocking(function) for key, function in toolset.TOOLS.items()})
        return executor

    async def open(self):
        self.session = self._executor()

    async def fresh(self, code):
        self._executor()(code)

    async def kept(self, code):
        self.session(code)

    async def snippet(self, code):
        text = speak.rename_tools(code, awaited=False)
        return (await asyncio.to_thread(self._executor(), text)).output

    async def rows(self):
        code = AGGREGATE.replace("ROWS", "bench_rows()") + "totals"
        return self._executor()(code).output

    async def calls(self, count):
        started = time.perf_counter()
        self._executor()(f"for n in range({count}):\n    bench_echo(x=n)")
        return [(time.perf_counter() - started) / count]


if __name__ == "__main__":
    speak.main(Smol(), notes="in the host's own process, no boundary: its tool calls are function calls")
