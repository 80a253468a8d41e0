"""What alerts and the autoscaler go by is counted by a real runtime: what sandboxes do, and executions without an outcome."""

import asyncio
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.events import Event, OutputWritten
from gristmill.ledger.metrics import NoMetrics


def samples(metrics: NoMetrics) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_the_pool_is_told_by_what_its_sandboxes_do_and_a_cancelled_execution_is_counted(state: Path) -> None:
    async def look() -> tuple[dict[tuple[str, ...], float], ...]:
        config = Config(store=StoreConfig(path=state), sandbox=SandboxConfig(warm=1, concurrency=3))
        async with Runtime.open(config, serving=True) as runtime:
            running = asyncio.Event()

            def hear(event: Event) -> None:
                if isinstance(event, OutputWritten):
                    running.set()

            await runtime.execute("x = 1", session="kept")
            work = asyncio.create_task(runtime.execute("print('on', flush=True)\nwhile True: pass", emit=hear))
            async with asyncio.timeout(20):
                await running.wait()
            during = samples(runtime.metrics)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return during, samples(runtime.metrics)

    during, after = asyncio.run(look())
    assert during["sandbox_pool_size", "concurrency"] == 3
    assert during["sandbox_pool_size", "warm"] == 1
    assert (during["sandbox_pool_children", "busy"], during["sandbox_pool_children", "kept"]) == (1, 1)
    assert after["sandbox_pool_children", "busy"] == 0
    assert after["code_executions_total", "cancelled"] == 1
