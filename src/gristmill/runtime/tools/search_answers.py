"""What a search answers with, and how it is written: the same whether the whole house is open or only the last catalogue."""

from collections.abc import Callable, Mapping
from typing import Literal

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResult
from gristmill.catalog.modules.tool_outline import signature_line, type_lines
from gristmill.catalog.search.render_hits import SKILLS, Writing
from gristmill.catalog.search.search_hits import Hit
from gristmill.model import Tool
from gristmill.values import dataclass

Language = Literal["python", "typescript"]

MOST_HITS = 50
MOST_KEYS = 100
MOST_TOKENS = 20_000
"""Larger wishes are cut to these: an answer has to fit into a model's context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found: ``hits``, best first, and ``text`` to show to a model."""

    query: str
    hits: tuple[Hit, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Tools in full: ``text`` is source to read."""

    tools: tuple[Tool, ...]
    text: str


def writing_of(
    catalog: Catalog,
    marks: Mapping[str, str],
    learned: Mapping[str, LearnedResult],
    count: Callable[[str], int],
    with_skills: Catalog | None = None,
) -> Writing:
    """Tools are written by the names of the whole snapshot, skills by those of the catalogue that holds them."""

    def home(server: str) -> Catalog:
        return with_skills if server == SKILLS and with_skills is not None else catalog

    return Writing(
        signature=lambda tool: signature_line(home(tool.server), tool, learned.get(tool.key)),
        function=lambda tool: home(tool.server).functions[tool.key],
        module=lambda server: home(server).modules[server],
        types=lambda tool: type_lines(home(tool.server), tool, learned.get(tool.key)),
        mark=lambda tool: marks.get(tool.key, ""),
        count=count,
    )
