"""What a search answers with, as values. Apart from the index, so that naming them loads no arrays."""

from typing import Literal

from gristmill.model import Tool
from gristmill.values import dataclass

DetailLevel = Literal["name_only", "with_description", "full"]

BUDGET_TOKENS = 1_200
"""What the text of a search's answer may cost, unless the caller says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One tool found; ``score`` compares hits of the same search only."""

    tool: Tool
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSummary:
    """One server and how many tools it has."""

    name: str
    tools: int
