"""Functions are added to an open runtime: code can call them at once, and names that are taken are refused."""

from pathlib import Path

import anyio
import pytest

from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.model import Json, ToolCall
from gristmill.runtime.values.server_values import DescribedFunction
from gristmill.testing import CallTool, FakePool, fake_runtime

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def double(call: ToolCall) -> Json:
    return call.arguments["n"] * 2


async def fail(call: ToolCall) -> Json:
    raise ValueError(f"no {call.arguments['n']}")


def test_added_functions_are_called_checked_and_extended(tmp_path: Path) -> None:
    async def program(tools: CallTool) -> Json:
        return await tools("added.double", n=21)

    async def break_it(tools: CallTool) -> Json:
        return await tools("added.fail", n=1)

    async def main() -> None:
        config = Config.model_validate({"store": {"path": str(tmp_path)}})
        functions = [DescribedFunction(name="double", call=double, description="Double.", input_schema=SCHEMA)]
        pool = FakePool(program=program)
        async with fake_runtime(config, pool, tools={"mine.find": lambda: 1}) as runtime:
            await runtime.add_tools("added", functions)
            assert (await runtime.execute("1")).result == 42
            await runtime.add_tools("added", [DescribedFunction(name="fail", call=fail, input_schema=SCHEMA)])
            assert [tool.name for tool in await runtime.list_tools("added")] == ["double", "fail"]
            pool._program = break_it  # pyright: ignore[reportPrivateUsage]
            assert "ValueError: no 1" in str((await runtime.execute("1")).error)
            for name in ("mine", "skills", "not a name", ""):
                with pytest.raises(ConfigError):
                    await runtime.add_tools(name, functions)

    anyio.run(main)
