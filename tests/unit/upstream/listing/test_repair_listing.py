"""Listings are mended until the SDK takes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from gristmill.upstream.listing.repair_listing import repair_listing

GOOD = {"name": "good", "inputSchema": {"type": "object"}}
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["name", "inputSchema", "outputSchema", "annotations", "icons", "title", "_meta", "description", "execution"]
)


def test_a_good_listing_is_passed_on_untouched() -> None:
    listing = {"tools": [GOOD], "nextCursor": "x"}
    assert repair_listing(listing, "2025-11-25") is listing


@pytest.mark.parametrize("schema", [None, {}, [], "x", {"type": "array"}, {"properties": {}}])
def test_a_tool_without_a_proper_schema_takes_any_object(schema: Any) -> None:
    mended = repair_listing({"tools": [GOOD, {"name": "bad", "inputSchema": schema}]}, "2025-11-25")
    assert [tool["name"] for tool in mended["tools"]] == ["good", "bad"]
    assert mended["tools"][1]["inputSchema"]["type"] == "object"


@given(
    tools=st.lists(JSON | st.dictionaries(KEYS, JSON, max_size=9), max_size=5),
    version=st.sampled_from(["2025-11-25", "2026-07-28"]),
)
def test_whatever_stands_beside_it_a_good_tool_survives_and_the_sdk_accepts_the_rest(tools: list[Any], version: str) -> None:
    hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    mended = repair_listing({"tools": [*tools, GOOD], **hints}, version)
    assert GOOD in mended["tools"]
    validate_server_result("tools/list", version, mended)
