"""Every task of the examples: its program gives the true answer through real servers and the real sandbox."""

import re
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from examples.homeiq.automation import Automations
from examples.homeiq.data import Data
from examples.homeiq.devices import Devices
from examples.homeiq.stored import open_records as open_house
from examples.omniops.analytics import Analytics
from examples.omniops.commerce import Commerce
from examples.omniops.conversations import Conversations
from examples.omniops.search import Search
from examples.omniops.shops.local import LocalShop
from examples.omniops.stored import open_copy_of
from examples.omniops.sync import Sync
from examples.opening import APPS, App, app_config
from examples.pam.__main__ import server as pam
from examples.serving import server_of
from examples.tasks import TASKS
from examples.tasks.task import Call, Task
from examples.tasks.truth import open_truth
from examples.three_ways.arms import surface
from examples.three_ways.measure import open_app
from examples.three_ways.servers import definition
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import TextContent

from gristmill import BlockingRuntime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.tools.known_servers import list_known_servers
from gristmill.serve.mcp.tools.server_instructions import write_instructions


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


truth = cache(open_truth)


@pytest.fixture(scope="module")
def runtimes() -> Generator[dict[App, BlockingRuntime]]:
    """Gateways in front of the apps' servers; each is opened when the first of its tasks comes."""
    found: dict[App, BlockingRuntime] = {}
    yield found
    for runtime in found.values():
        runtime.__exit__(None, None, None)


@pytest.fixture(scope="module")
def servers() -> dict[str, MCPServer]:
    """The same servers in this process: their tools, without pipes."""
    house, shop = open_house(None), open_copy_of(None)
    return {
        "pam": pam(),
        "home_data": server_of("data", Data(house)),
        "home_automation": server_of("automation", Automations(house)),
        "home_devices": server_of("devices", Devices(house)),
        "shop_search": server_of("search", Search(shop)),
        "shop_commerce": server_of("commerce", Commerce(LocalShop(shop)), Sync(shop, LocalShop(shop))),
        "shop_analytics": server_of("analytics", Analytics(shop), Conversations(shop)),
    }


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_program_of_a_task_gives_the_true_answer(runtimes: dict[App, BlockingRuntime], state: Path, task: Task) -> None:
    if task.app not in runtimes:
        runtimes[task.app] = BlockingRuntime(app_config(task.app, state=state / task.app)).__enter__()
    outcome = runtimes[task.app].execute(task.program, context=task.context)

    assert (outcome.status, outcome.error) == ("ok", None)
    assert outcome.result == task.expected(truth(task.app))


@pytest.mark.anyio
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_the_direct_trace_of_a_task_calls_only_tools_that_need_no_approval(
    servers: dict[str, MCPServer], task: Task
) -> None:
    asked: list[str] = []

    async def ask(*calls: Call) -> list[Any]:
        answers: list[Any] = []
        for key, arguments in calls:
            server, _, tool = key.partition(".")
            asked.append(key)
            answer: Any = await servers[server].call_tool(tool, dict(arguments))
            found = answer.structured_content
            answers.append(found["result"] if set(found) == {"result"} else found)
        return answers

    await task.direct(ask)

    tools = {f"{name}.{tool.name}": tool for name, server in servers.items() for tool in await server.list_tools()}
    writing = {key for key in asked if not (note := tools[key].annotations) or not note.read_only_hint}
    assert asked
    assert writing <= {"shop_commerce.sync_products"}, "which the shop's own rule lets pass as long as it does not apply"


def test_there_are_at_least_25_tasks_over_all_apps_and_kinds() -> None:
    assert len(TASKS) == len({task.id for task in TASKS}) >= 25
    assert {task.app for task in TASKS} == set(APPS)
    assert {task.kind for task in TASKS} == {"chat", "report", "sync"}


@pytest.mark.anyio
async def test_what_is_counted_is_what_a_client_of_the_door_reads(state: Path) -> None:
    task = next(task for task in TASKS if task.id == "pam-merchants")
    async with open_app("pam", state=state / "counted") as app:
        measured = await app.measure(task)
        known = await list_known_servers(app.runtime)
        door = McpDoor(
            hall=wrap_runtime(app.runtime),
            instructions=write_instructions(describe_servers(app.runtime.config, known)),
            server_names=tuple(known),
            example="from servers.SERVER import tool",
        )
        async with Client(build_server(door)) as client:
            listed = [definition(tool.name, tool.description, tool.input_schema) for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search_tools", {"query": task.searches[0]})
            ran = await client.call_tool("execute_code", {"code": task.program}, meta={"gristmill/context": dict(task.context)})
        await door.close()
        said = [block.text for answer in (found, ran) for block in answer.content if isinstance(block, TextContent)]

        assert listed == surface()
        # Surface, question, search call and answer, program and outcome, and nothing else, are what the last request holds.
        calls = measured.ours.output - app.count(str(measured.expected).replace(" ", "").replace("'", '"'))
        texts = (*listed, write_instructions(describe_servers(app.runtime.config, known)), task.question, *said)
        assert measured.ours.context == sum(map(app.count, texts)) + calls
        assert measured.is_right
        page = (Path(__file__).parents[2] / "docs" / "explain" / "savings.md").read_text()
        (shown,) = re.findall(
            r"^\| pam-merchants \| report \| 1 \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", page.split("## Beside")[0], re.MULTILINE
        )
        now = (measured.direct.input, measured.searched.input, measured.ours.input)
        # A change of the surface or of the search moves the figures; run `make bench-tokens` and `python -m bench.tokens_page` then.
        assert [int(each.replace(",", "")) for each in shown] == pytest.approx(now, rel=0.05)
