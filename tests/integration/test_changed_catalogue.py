"""Names that a session has imported keep working after the tools have changed."""

from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import StoreConfig

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
