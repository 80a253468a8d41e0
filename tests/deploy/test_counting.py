"""What alerts and the autoscaler go by is counted by a real runtime: what sandboxes do, and executions without an outcome."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from prometheus_client.parser import text_string_to_metric_families

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.events import Event, OutputWritten
from gristmill.ledger.metrics import NoMetrics
from gristmill.runtime.recording.show_waiting_plans import render_metrics


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


WORK = "import time\nbegan = time.process_time()\nwhile time.process_time() < began + 0.2: pass"


def send(to: str) -> str:
    """Sends."""
    return to


def test_the_cpu_time_of_programs_is_counted_however_they_end(state: Path) -> None:
    async def look() -> list[float]:
        config = Config(store=StoreConfig(path=state), sandbox=SandboxConfig(warm=1, concurrency=3))
        found: list[float] = []
        async with Runtime.open(config, serving=True) as runtime:
            for code, options in (
                ("1", {}), (WORK, {}), (WORK, {"session": "kept"}), (WORK, {"session": "kept"}),
                ("while True: pass", {"limits": {"cpu_seconds": 0.3}}), (f"{WORK}\nimport os\nos._exit(1)", {}),
            ):  # fmt: skip
                await runtime.execute(code, **cast("dict[str, Any]", options))
                found.append(samples(runtime.metrics)["code_execution_cpu_seconds_total",])
        return [after - before for before, after in pairwise(found)]

    made = asyncio.run(look())
    assert [seconds >= 0.19 for seconds in made] == [True] * 5
    assert [seconds < 0.4 for seconds in made[:3]] == [True] * 3, (
        "what an earlier program of the session used is not counted again"
    )


def test_plans_that_wait_and_servers_that_are_down_are_shown_without_traffic(state: Path) -> None:
    async def look() -> dict[tuple[str, ...], float]:
        config = Config.model_validate(
            {
                "store": {"path": state}, "sandbox": {"warm": 1}, "policy": {"ask": ["mail.*"]},
                "servers": {"gone": {"url": "http://127.0.0.1:9/mcp"}},
            }
        )  # fmt: skip
        async with Runtime.open(config, tools={"mail.send": send}, serving=True) as runtime:
            await runtime.search("send")  # waits until every server was asked once
            assert (await runtime.execute("from servers.mail import send\nsend('x')")).status == "awaiting_approval"
            families = text_string_to_metric_families((await render_metrics(runtime.metrics, runtime.approvals)).decode())
            return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}

    found = asyncio.run(look())
    assert (found["server_up", "gone"], found["server_up", "mail"]) == (0, 1)
    assert (found["approvals_pending",], found["approvals_expiring",]) == (1, 0)
    assert found["approvals_oldest_seconds",] >= 0
