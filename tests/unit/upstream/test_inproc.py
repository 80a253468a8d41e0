"""Python functions as tools."""

import asyncio
from typing import Any

import pytest

from gristmill.errors import ToolFailed, UnknownTool
from gristmill.model import ToolCall
from gristmill.upstream.inproc import functions


async def double(number: int) -> int:
    return number * 2


def size(items: list[int]) -> int:
    return len(items)


def broken() -> None:
    raise ValueError("secret detail")


HANDLER = functions({"math.double": double, "math.broken": broken, "text.size": size})


def call(tool: str, *positional: Any, **arguments: Any) -> Any:
    async def run() -> Any:
        return (await HANDLER(ToolCall(id=1, tool=tool, arguments=arguments, positional=positional))).value

    return asyncio.run(run())


def test_arguments_arrive_by_name_and_by_position() -> None:
    assert (call("math.double", number=4), call("math.double", 4), call("text.size", [1, 2])) == (8, 8, 2)


def test_unknown_tools_and_wrong_arguments_are_explained() -> None:
    with pytest.raises(UnknownTool) as unknown:
        call("math.duble")
    assert unknown.value.near == ("math.double",)
    with pytest.raises(ToolFailed, match=r"it takes \(number: int\)"):
        call("math.double", nmber=1)


def test_a_failing_function_is_a_failed_tool() -> None:
    with pytest.raises(ToolFailed, match="ValueError"):
        call("math.broken")
