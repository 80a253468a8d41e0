"""How a peer is measured and how it reports: one small adapter per peer, one way of measuring for all.

A peer's script builds a ``Peer`` and calls ``main``. What it can do it implements; what it cannot do stays None and is left out.
Reports are JSON lines on the script's original standard output; whatever the peer prints itself goes nowhere.
"""

import argparse
import ast
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import toolset
from corpus import judge, load_snippets, quantiles

FRESH = "print(1+1)"
PAUSE = 0.005
"""Seconds between two timed runs: code does not come in an unbroken stream. The same for all."""
HERE = Path(__file__).parent


class Peer:
    """What a peer can do. Each method returns what the program returned, and raises when the program failed."""

    async def open(self):
        """Get ready: what a server would do once."""

    async def close(self):
        """Let go of everything."""

    fresh = None
    """``await fresh(code)``: run with no state of earlier runs; returns nothing."""
    kept = None
    """``await kept(code)``: run in one session that keeps its state."""
    calls = None
    """``await calls(count)``: seconds of each of ``count`` sequential tool calls, or one mean."""
    calls_of_3000 = None
    """The same with 3,000 tools in the catalogue."""
    parallel = None
    """``await parallel()``: 100 calls of a 50 ms tool at once; returns their results."""
    rows = None
    """``await rows()``: fetch 10,000 rows, filter and aggregate; returns the aggregate."""
    snippet = None
    """``await snippet(code)``: the value of the last expression of a program that may use ``servers``."""


def main(peer, notes=""):
    """Measure what was asked for on the command line and report it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figures", default="")
    parser.add_argument("--cold", action="store_true", help="one run and out: timed from outside")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2) if not os.environ.get("BENCH_DEBUG") else None

    def say(**message):
        out.write(json.dumps(message) + "\n")

    if options.cold:
        asyncio.run(_one(peer, say))
        return
    figures = [name for name in options.figures.split(",") if name]
    say(peer=True, python=platform.python_version(), notes=notes)
    asyncio.run(Measuring(peer, say, options.quick, figures).all())
    say(end=True)


async def _one(peer, say):
    await peer.open()
    await peer.fresh(FRESH)
    say(first=True)
    await peer.close()


class Measuring:
    """All measurements of one peer, each under its figure's name."""

    def __init__(self, peer, say, quick, figures):
        self.peer, self.say, self.quick, self.figures = peer, say, quick, figures

    async def all(self):
        await self.peer.open()
        try:
            for name in (
                "fresh",
                "kept",
                "call_sync",
                "call_3000",
                "parallel",
                "rows",
                "rate_2",
                "rate_32",
                "rate_256",
                "snippets",
            ):
                if self.figures and name not in self.figures:
                    continue
                self.say(progress=name)
                try:
                    async with asyncio.timeout(300):
                        await getattr(self, name)()
                except Exception as error:
                    self.say(figure=name, error=f"{type(error).__name__}: {error}"[:300])
        finally:
            await self.peer.close()

    def _count(self, full, quick):
        return quick if self.quick else full

    async def _timed(self, run, count, warm=5):
        values = []
        for index in range(warm + count):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            await run()
            if index >= warm:
                values.append(time.perf_counter() - started)
        return values

    async def fresh(self):
        if self.peer.fresh:
            values = await self._timed(lambda: self.peer.fresh(FRESH), self._count(300, 30))
            self.say(figure="fresh", unit="ms", **quantiles(values, 1e3))

    async def kept(self):
        if self.peer.kept:
            values = await self._timed(lambda: self.peer.kept(FRESH), self._count(300, 30))
            self.say(figure="kept", unit="ms", **quantiles(values, 1e3))

    async def call_sync(self):
        if self.peer.calls:
            await self.peer.calls(20)
            self.say(figure="call_sync", unit="us", **quantiles(await self.peer.calls(self._count(900, 200)), 1e6))

    async def call_3000(self):
        if self.peer.calls_of_3000:
            await self.peer.calls_of_3000(5)
            self.say(figure="call_3000", unit="us", **quantiles(await self.peer.calls_of_3000(self._count(100, 20)), 1e6))

    async def parallel(self):
        if self.peer.parallel:
            assert sorted(await self.peer.parallel()) == list(range(100))
            values = await self._timed(self.peer.parallel, self._count(15, 4), warm=1)
            self.say(figure="parallel", unit="ms", **quantiles(values, 1e3))

    async def rows(self):
        if self.peer.rows:
            assert await self.peer.rows() == toolset.rows_expected()
            values = await self._timed(self.peer.rows, self._count(15, 4), warm=1)
            self.say(figure="rows", unit="ms", **quantiles(values, 1e3))

    async def rate_2(self):
        await self._rate(2)

    async def rate_32(self):
        await self._rate(32)

    async def rate_256(self):
        await self._rate(256)

    async def _rate(self, callers):
        if not self.peer.fresh:
            return
        seconds = self._count(6.0, 2.0)
        done = 0
        started = time.perf_counter()
        until = started + seconds

        async def caller():
            nonlocal done
            while time.perf_counter() < until:
                await self.peer.fresh(FRESH)
                done += 1

        await asyncio.gather(*[caller() for _ in range(callers)])
        value = done / (time.perf_counter() - started)
        self.say(figure=f"rate_{callers}", unit="/s", n=done, p50=value, mean=value)

    async def snippets(self):
        if not self.peer.snippet:
            return
        results = {}
        for name, (code, expected) in sorted(load_snippets().items()):
            results[name] = await self._snippet(code, expected)
        passed = sum(result == "ok" for result in results.values())
        self.say(figure="snippets", unit="of 32", n=len(results), p50=passed, mean=passed, each=results)

    async def _snippet(self, code, expected):
        try:
            async with asyncio.timeout(30):
                value = await self.peer.snippet(code)
            return judge(value, expected)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"[:200]


def rename_tools(code, awaited):
    """``crm.find(id=1)`` as ``crm_find(id=1)``, for peers that know functions only; ``awaited`` puts an await before it."""
    tree = ast.parse(code)
    tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "servers")]
    return ast.unparse(ast.fix_missing_locations(_Rename(awaited).visit(tree)))


class _Rename(ast.NodeTransformer):
    def __init__(self, awaited):
        self.awaited, self.inside_await, self.inside_def = awaited, False, False

    def visit_Await(self, node):
        self.inside_await = True
        self.generic_visit(node)
        self.inside_await = False
        return node

    def visit_FunctionDef(self, node):
        outer, self.inside_def = self.inside_def, True
        self.generic_visit(node)
        self.inside_def = outer
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        key = ast.unparse(node.func)
        if key not in toolset.TOOLS:
            return node
        node.func = ast.Name(key.replace(".", "_"), ast.Load())
        plain = self.awaited and not self.inside_await and not self.inside_def
        return ast.Await(node) if plain else node


async def run_process(command, text=b"", timeout=60):
    """Run a command to its end; returns what it printed, raises with what it complained about."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(timeout):
            out, error = await process.communicate(text)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(error.decode(errors="replace").strip().splitlines()[-1] if error else f"exit {process.returncode}")
    return out


def packages_folder():
    """Where pandas is, for peers that can use it."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(HERE.parents[1] / ".tools" / "bench" / "code" / "lib" / version / "site-packages")
