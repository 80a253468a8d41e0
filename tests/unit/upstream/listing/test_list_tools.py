"""Which tools are offered, and what is too large to be."""

from typing import Any

from mcp_types import Tool as WireTool

from gristmill.model import Tool
from gristmill.upstream.listing.list_tools import ToolFilter, convert_tools


def _wire(**values: Any) -> WireTool:
    return WireTool.model_validate({"name": "t", "inputSchema": {"type": "object"}} | values)


def test_a_tool_is_taken_over_whole() -> None:
    wire = _wire(description="d", title="T", outputSchema={"type": "array"}, annotations={"readOnlyHint": True})
    assert list(convert_tools([wire], "s", ToolFilter())) == [
        Tool(
            server="s",
            name="t",
            description="d",
            title="T",
            input_schema={"type": "object"},
            output_schema={"type": "array"},
            annotations={"readOnlyHint": True},
        )
    ]


def test_a_schema_too_large_or_too_deep_leaves_its_tool_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"x": deep}
    tools = [
        _wire(name="large", inputSchema={"type": "object", "title": "x" * 600_000}),
        _wire(name="deep", outputSchema=deep),
        _wire(name="fine"),
    ]
    assert [tool.name for tool in convert_tools(tools, "s", ToolFilter())] == ["fine"]


def test_a_long_description_is_cut() -> None:
    assert len(next(iter(convert_tools([_wire(description="x" * 100_000)], "s", ToolFilter()))).description) == 32_000


def test_a_filter_offers_what_is_included_and_not_excluded() -> None:
    only = ToolFilter(include=("get_*",), exclude=("get_secret*",))
    assert [name for name in ("get_a", "get_secrets", "set_a") if only.admits(name)] == ["get_a"]
    assert ToolFilter().admits("anything")
