"""The values that a search returns. Separate from the index, so that importing them loads no arrays."""

from typing import Literal

from msgspec import Struct

from gristmill.model import Tool

DetailLevel = Literal["name_only", "with_description", "full"]

BUDGET_TOKENS = 1_200
"""The default limit for the text of a search's answer."""


class SearchHit(Struct, frozen=True, kw_only=True):
    """One tool found; ``score`` can be compared only within the same search."""

    tool: Tool
    score: float


class ServerSummary(Struct, frozen=True, kw_only=True):
    """One server and the number of its tools."""

    name: str
    tools: int
