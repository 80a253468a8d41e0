"""Names that a session has imported keep working after the tools have changed."""

from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import StoreConfig
from tests.servers.warm import server_of

pytestmark = pytest.mark.anyio


def describe_shape(sides: int) -> Any:
    return {"sides": sides, "name": f"polygon of {sides}"}


def list_shapes() -> Any:
    return [{"sides": 3}, {"sides": 4}]


def add(numbers: list[int]) -> Any:
    return {"sum": sum(numbers)}


def median(numbers: list[int]) -> Any:
    return {"median": float(sorted(numbers)[len(numbers) // 2])}


TOOLS = {"shapes.describe": describe_shape, "shapes.list": list_shapes, "sums.add": add, "sums.median": median}


async def test_imported_servers_work_after_result_types_were_learned(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(path=tmp_path))
    programs = {
        "from servers import shapes, sums\nimport servers": None,
        "shapes.describe(sides=5)['name']": "polygon of 5",
        "len(shapes.list())": 2,
        "sums.add(numbers=[1, 2])['sum']": 3,
        "sums.median(numbers=[1, 2, 9])['median']": 2.0,
        "servers.sums.median(numbers=[4])['median']": 4.0,
        "shapes.describe(sides=6)['name']": "polygon of 6",
    }
    async with Runtime.open(config, tools=TOOLS) as runtime:
        folders: set[str] = set()
        for code, expected in programs.items():
            outcome = await runtime.execute(code, session="s")
            assert (outcome.status, outcome.result) == ("ok", expected), outcome.error
            folders.add(str(await runtime._rooms.library.write_modules()))  # pyright: ignore[reportPrivateUsage]
        assert len(folders) > 1  # the modules have really changed in between


async def test_every_way_to_name_a_tool_works_after_the_tools_have_changed(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(path=tmp_path))
    names = """from servers import shapes, sums
import servers, servers.sums
import servers.sums as numbers
from servers.sums import add, median as middle
from servers.shapes import describe
from skills import save
stored = [sums.add, shapes.describe]
def times(values: list) -> int:
    "Adds and doubles."
    return 2 * sums.add(numbers=values)["sum"]
save(times)"""
    uses = """from skills import times as saved
[add(numbers=[1])["sum"], middle(numbers=[3])["median"], stored[0](numbers=[2])["sum"], stored[1](sides=3)["sides"], times([4]), saved([5]),
 numbers.median(numbers=[7])["median"], servers.sums.add(numbers=[1, 1])["sum"], len(servers.shapes.list()), describe(sides=8)["sides"]]"""
    async with Runtime.open(config, tools=TOOLS) as runtime:
        assert (await runtime.execute(names, session="s")).error is None
        folders: set[str] = set()
        for sides in range(3, 6):  # each call is one more that the type of its result is learned from
            folders.add(str(await runtime._rooms.library.write_modules()))  # pyright: ignore[reportPrivateUsage]
            outcome = await runtime.execute(uses, session="s")
            assert (outcome.status, outcome.result) == ("ok", [1, 3.0, 2, 3, 8, 10, 7.0, 2, 2, 8]), outcome.error
            await runtime.execute(f"from servers import shapes\nshapes.describe(sides={sides})")
        assert len(folders) > 1


async def test_names_of_a_server_that_is_listed_later_work_before_and_after(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    told = tmp_path / "told.json"
    told.write_text("{}")
    config = Config(
        store=StoreConfig(path=tmp_path / "state"),
        servers={"crm": server_of("shifting.py", str(told))},
        policy=PolicyConfig(default="allow", changed_definitions="allow"),
    )
    async with Runtime.open(config, tools=TOOLS) as runtime:
        # Before the server is listed, the session imports names of both.
        first = await runtime.execute(
            "from servers import sums, crm\nfrom servers.crm import get_customer\nsums.add(numbers=[1])", session="s"
        )
        assert first.error is None
        await runtime.settled(30)
        code = "[crm.get_customer(number=1)['id'], get_customer(number=1)['id'], sums.median(numbers=[4])['median']]"
        assert (await runtime.execute(code, session="s")).result == [1, 1, 4.0]
