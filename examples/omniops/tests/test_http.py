"""The three servers speak streamable HTTP too: a program runs over all of them through the gateway."""

import select
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.omniops.stored import open_records
from examples.opening import ROOT
from gristmill import BlockingRuntime, Config

SERVERS = {"shop_search": "search", "shop_commerce": "commerce", "shop_analytics": "analytics"}
PROGRAM = """\
from servers import shop_analytics, shop_commerce, shop_search
mug = shop_search.search_products("something to keep coffee hot", limit=1)[0]
stock = shop_commerce.get_inventory(mug["sku"])
[mug["sku"], sum(s["on_hand"] for s in stock), shop_analytics.monthly_report("2026-05")["orders"]]
"""


@pytest.fixture
def urls() -> Generator[dict[str, str]]:
    """The servers as their own processes, each on a free port, listening."""
    with ExitStack() as stack:
        ports: dict[str, int] = {}
        for name, module in SERVERS.items():
            with socket.create_server(("127.0.0.1", 0)) as free:
                ports[name] = free.getsockname()[1]
            command = [sys.executable, "-m", f"examples.omniops.{module}", "--http", str(ports[name])]
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT))
            stack.callback(process.terminate)
        for port in ports.values():
            _wait_for(port)
        yield {name: f"http://127.0.0.1:{port}/mcp" for name, port in ports.items()}


def _wait_for(port: int) -> None:
    """Until somebody listens; the server has no other way to tell."""
    until = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            assert time.monotonic() < until, "the server does not listen"
            select.select([], [], [], 0.05)
        else:
            return


def test_a_program_runs_over_the_servers_by_http(urls: dict[str, str], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    config = Config.model_validate({"servers": {name: {"url": url} for name, url in urls.items()}, "store": {"path": tmp_path}})
    with BlockingRuntime(config) as runtime:
        runtime.settled(60)
        outcome = runtime.execute(PROGRAM)

    assert (outcome.status, outcome.error) == ("ok", None)
    sku, on_hand, orders = outcome.result
    truth = open_records(None).connection
    assert on_hand == truth.execute("SELECT sum(on_hand) FROM inventory WHERE sku = ?", (sku,)).fetchone()[0]
    sold = "status IN ('completed', 'processing') AND date LIKE '2026-05-%'"
    assert orders == truth.execute(f"SELECT count(*) FROM orders WHERE {sold}").fetchone()[0]
