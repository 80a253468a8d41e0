"""Who is learned from: what one tenant's tools answer is not for another to see."""

import asyncio
from pathlib import Path

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.model import Identity, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.learn_from_calls import LearnFromCalls, ShapeLearning

CATALOG = Catalog.from_tools([Tool(server="crm", name="find")])


@pytest.mark.requirement("T46")
@pytest.mark.parametrize(
    ("tenant", "from_tenants", "learned"), [("local", False, True), ("acme", False, False), ("acme", True, True)]
)
def test_only_the_operators_own_calls_are_learned_from_unless_he_says_otherwise(
    tmp_path: Path, tenant: str, from_tenants: bool, learned: bool
) -> None:
    shapes = ShapeLearning(tmp_path / "learned.json")
    layer = LearnFromCalls(lambda: CATALOG, shapes, None, from_tenants)

    async def proceed(_call: ToolCall) -> ToolResult:
        return ToolResult(value={"merger_price": 7})

    async def run() -> None:
        call = ToolCall(
            id=1, tool="crm.find", arguments={}, execution="e", session=None, identity=Identity(tenant=tenant, caller="c")
        )
        assert (await layer(call, proceed)).value == {"merger_price": 7}
        await shapes.close()

    asyncio.run(run())
    assert ("merger_price" in str(shapes.get_types(CATALOG.hashes))) is learned
