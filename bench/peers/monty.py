"""pydantic-monty: a subset of Python in worker processes of Rust, with a pool."""

import time

import pydantic_monty
import speak
import toolset
from corpus import AGGREGATE


def modules():
    """``from servers import crm``."""
    servers = {}
    for key, function in toolset.TOOLS.items():
        server, tool = key.split(".")
        servers.setdefault(server, {})[tool] = function
    inner = {name: pydantic_monty.ExternalModule(functions) for name, functions in servers.items()}
    return {"servers": pydantic_monty.ExternalModule(inner)}


class Monty(speak.Peer):
    """A session from its pool per run."""

    async def open(self):
        self.pool = pydantic_monty.AsyncMonty(min_processes=2)
        await self.pool.__aenter__()
        self.session = self.pool.checkout()
        await self.session.__aenter__()
        # The kept session occupies one worker; a second pool leaves the fresh runs all of theirs.
        self.fresh_pool = pydantic_monty.AsyncMonty(min_processes=2)
        await self.fresh_pool.__aenter__()

    async def close(self):
        await self.session.__aexit__(None, None, None)
        await self.pool.__aexit__(None, None, None)
        await self.fresh_pool.__aexit__(None, None, None)

    async def _run(self, code, **options):
        async with self.fresh_pool.checkout(external_modules=modules()) as session:
            return await session.feed_run(code, print_callback=pydantic_monty.CollectString(), **options)

    async def fresh(self, code):
        async with self.fresh_pool.checkout() as session:
            await session.feed_run(code, print_callback=pydantic_monty.CollectString())

    async def kept(self, code):
        await self.session.feed_run(code, print_callback=pydantic_monty.CollectString())

    async def snippet(self, code):
        try:
            return await self._run(code)
        except Exception:  # a second chance with tools as plain functions
            named = {key.replace(".", "_"): function for key, function in toolset.TOOLS.items()}
            return await self._run(speak.rename_tools(code, awaited=False), external_lookup=named)

    async def calls(self, count):
        async with self.fresh_pool.checkout() as session:
            started = time.perf_counter()
            await session.feed_run(f"for n in range({count}):\n    echo(x=n)", external_lookup={"echo": toolset.echo})
            return [(time.perf_counter() - started) / count]

    async def parallel(self):
        code = "import asyncio\nawait asyncio.gather(*[slow(i=i) for i in range(100)])"
        return await self._run(code, external_lookup={"slow": toolset.slow})

    async def rows(self):
        code = AGGREGATE.replace("ROWS", "rows()") + "totals"
        return await self._run(code, external_lookup={"rows": toolset.rows})


if __name__ == "__main__":
    speak.main(Monty(), notes="a subset of Python; session from a pool of two reused workers per run")
