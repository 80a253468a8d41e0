"""Python functions as a server."""

import threading
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field

from gristmill.errors import ConfigError, ToolFailed, UnknownTool, UpstreamTimeout
from gristmill.model import Tool, ToolCall
from gristmill.upstream.base import Upstreams
from gristmill.upstream.python_functions import PythonFunctions, find_public_functions

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Point:
    x: int
    y: int = 0


def add(a: int, b: Annotated[int, Field(description="second")] = 1) -> int:
    """Add two numbers."""
    return a + b


async def move(point: Point) -> Point:
    return Point(point.x + 1, point.y)


def fail() -> None:
    raise KeyError("gone")


def where() -> str:
    return threading.current_thread().name


async def wait() -> None:
    import anyio

    await anyio.sleep_forever()


async def _call(upstream: PythonFunctions, tool: str, **arguments: Any) -> Any:
    return (await Upstreams([upstream])(ToolCall(id=1, tool=f"py.{tool}", arguments=arguments))).value


async def test_a_signature_becomes_a_definition() -> None:
    tool = PythonFunctions("py", [add]).tools[0]
    assert tool == Tool(
        server="py",
        name="add",
        description="Add two numbers.",
        input_schema={
            "additionalProperties": False,
            "properties": {
                "a": {"title": "A", "type": "integer"},
                "b": {"default": 1, "description": "second", "title": "B", "type": "integer"},
            },
            "required": ["a"],
            "title": "add",
            "type": "object",
        },
        output_schema={"type": "integer"},
    )


async def test_values_go_in_and_come_out_as_json() -> None:
    upstream = PythonFunctions("py", [add, move])
    assert await _call(upstream, "add", a=1) == 2
    assert await _call(upstream, "move", point={"x": 1}) == {"x": 2, "y": 0}


async def test_wrong_arguments_and_failures_are_failures_of_the_tool() -> None:
    upstream = PythonFunctions("py", [add, fail])
    for arguments in ({"a": "x"}, {}, {"a": 1, "c": 2}):
        with pytest.raises(ToolFailed):
            await _call(upstream, "add", **arguments)
    with pytest.raises(ToolFailed, match="KeyError: 'gone'"):
        await _call(upstream, "fail")
    with pytest.raises(UnknownTool):
        await _call(upstream, "ad", a=1)


async def test_a_function_runs_in_a_thread_unless_it_is_cheap() -> None:
    assert await _call(PythonFunctions("py", [where]), "where") != threading.current_thread().name
    assert await _call(PythonFunctions("py", [where], cheap=True), "where") == threading.current_thread().name


async def test_a_function_that_does_not_return_times_out() -> None:
    with pytest.raises(UpstreamTimeout):
        await _call(PythonFunctions("py", [wait], seconds=0.05), "wait")


def test_a_signature_without_names_is_refused() -> None:
    def bad(*args: int) -> None: ...

    with pytest.raises(ConfigError):
        PythonFunctions("py", [bad])


def test_the_public_functions_of_a_module_are_found() -> None:
    assert [function.__name__ for function in find_public_functions("textwrap")][:2] == ["wrap", "fill"]
    with pytest.raises(ConfigError):
        find_public_functions("no_such_module_here")
    with pytest.raises(ConfigError):
        find_public_functions("this_is_not.there")
