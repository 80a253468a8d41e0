"""Search results as text an agent can paste: imports, compact signatures, one-line docs, never over the token budget.

Each hit is written in one of six ways, from its bare key to its signature with a line per parameter. All start bare;
as long as the budget lasts they are written more fully, the best hits first.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gristmill.catalog.search.compact_signature import python_name, signature
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, Hit
from gristmill.catalog.types.loose_schema import described, parameters, required
from gristmill.model import Tool
from gristmill.values import dataclass

SKILLS = "skills"
"""The server that a skill has as a tool; it is imported from the module of that name, not from ``servers``."""
_LINE_CHARS = 160
_UNSIGNED = 2  # ways of writing a tool that need no import
_STEPS: Mapping[DetailLevel, int] = {"name_only": 1, "with_description": 2, "full": 6}


def bytes_per_three(text: str) -> int:
    """A cautious count for when no tokenizer is at hand: more than o200k on code and on prose."""
    return -(-len(text.encode(errors="replace")) // 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How names, signatures and tokens are made; the caller's choice."""

    signature: Callable[[Tool], str] = signature
    """Begins with the function's name."""
    function: Callable[[Tool], str] = lambda tool: python_name(tool.name)
    module: Callable[[str], str] = python_name
    types: Callable[[Tool], Sequence[str]] = lambda _: ()
    """Lines that explain the types which the signature only names."""
    count: Callable[[str], int] = bytes_per_three
    mark: Callable[[Tool], str] = lambda _: ""
    """A short warning about the tool, such as ``hidden characters``; empty for most."""


def render(
    hits: Sequence[Hit],
    *,
    detail_level: DetailLevel = "full",
    budget_tokens: int = BUDGET_TOKENS,
    writing: Writing | None = None,
) -> str:
    """The hits as text of at most ``budget_tokens`` by ``writing.count``; empty if not even one name fits."""
    how = _told_apart(hits, writing or Writing())
    written = [_ways(hit.tool, how, _STEPS[detail_level]) for hit in hits]
    levels = _afford(_costs(hits, written, how), budget_tokens)
    text = _page(hits, written, levels, how)
    # The parts were counted one by one and joining them may cost a token more: take back from the last hit first.
    while text and how.count(text) > budget_tokens:
        last = max(i for i, level in enumerate(levels) if level >= 0)
        levels[last] -= 1
        text = _page(hits, written, levels, how)
    return text


def one_line(text: str, limit: int = _LINE_CHARS) -> str:
    """The first sentence of ``text`` without line breaks or invisible characters: a comment cannot become code."""
    return _cut(re.split(r"(?<=[.!?])\s", _visible(text[: limit * 20]), maxsplit=1)[0], limit)


def _visible(text: str) -> str:
    seen = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(seen.split())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _told_apart(hits: Sequence[Hit], how: Writing) -> Writing:
    """Functions of two servers that share a name are called through their modules, or one import would hide the other."""
    homes: dict[str, set[str]] = {}
    for hit in hits:
        homes.setdefault(how.function(hit.tool), set()).add(hit.tool.server)
    shared = {name for name, servers in homes.items() if len(servers) > 1}

    def through_module(tool: Tool, text: str) -> str:
        return f"{how.module(tool.server)}.{text}" if how.function(tool) in shared and tool.server != SKILLS else text

    def signature(tool: Tool) -> str:
        return through_module(tool, how.signature(tool))

    def function(tool: Tool) -> str:
        return through_module(tool, how.function(tool))

    return replace(how, signature=signature, function=function) if shared else how


def _ways(tool: Tool, how: Writing, steps: int) -> list[str]:
    """The tool written ever more fully: key, doc, folded and whole signature, its types, its parameters."""
    key, doc, mark = _bare(tool), one_line(tool.description), how.mark(tool)
    if mark:
        key, doc = f"{key}  # [{mark}]", f"[{mark}] {doc}"
    unsigned = [key, f"{_bare(tool)}  # {doc}" if doc else key]
    if steps <= _UNSIGNED:
        return unsigned[:steps]
    heading = f"# {doc}\n" if doc else ""
    folded, left_out = _folded(tool)
    rest = f"  # {left_out} more: describe([{json.dumps(_bare(tool))}])" if left_out else ""
    whole = f"{heading}{how.signature(tool)}"
    typed = whole + "".join(f"\n    # {_cut(_visible(line), _LINE_CHARS)}" for line in how.types(tool))
    lines = (f"\n    # {one_line(name, 80)}: {one_line(text, 100)}" for name, text in described(tool).items())
    return [*unsigned, f"{heading}{how.signature(folded)}{rest}", whole, typed, f"{typed}{''.join(lines)}"]


def _bare(tool: Tool) -> str:
    return _cut(_visible(tool.key), _LINE_CHARS)


def _folded(tool: Tool) -> tuple[Tool, int]:
    """The tool with its required parameters only, and how many others there are."""
    known, needed = parameters(tool), required(tool)
    kept = {name: schema for name, schema in known.items() if name in needed}
    return replace(tool, input_schema={"properties": kept, "required": sorted(kept)}), len(known) - len(kept)


def _costs(hits: Sequence[Hit], written: Sequence[Sequence[str]], how: Writing) -> list[list[int]]:
    """What each way of writing each hit costs, a signature with an import line of its own."""
    costs: list[list[int]] = []
    for hit, ways in zip(hits, written, strict=True):
        importing = how.count(_imports([hit.tool], how) + "\n") if len(ways) > _UNSIGNED else 0
        costs.append([how.count(way + "\n\n") + (importing if i >= _UNSIGNED else 0) for i, way in enumerate(ways)])
    return costs


def _afford(costs: Sequence[Sequence[int]], budget: int) -> list[int]:
    """How fully each hit is written: breadth first, so that the last has a name before the first has parameters."""
    levels = [-1] * len(costs)
    spent = 0
    for level in range(max((len(steps) for steps in costs), default=0)):
        for i, steps in enumerate(costs):
            more = steps[level] - (steps[levels[i]] if levels[i] >= 0 else 0)
            if spent + more <= budget:
                levels[i] = level
                spent += more
    return levels


def _page(hits: Sequence[Hit], written: Sequence[Sequence[str]], levels: Sequence[int], how: Writing) -> str:
    shown = [(hit.tool, ways[level], level) for hit, ways, level in zip(hits, written, levels, strict=True) if level >= 0]
    imports = _imports([tool for tool, _, level in shown if level >= _UNSIGNED], how)
    parts = [imports, *(text for _, text, _ in shown)]
    between = "\n\n" if imports else "\n"
    return between.join(part for part in parts if part)


def _imports(tools: Sequence[Tool], how: Writing) -> str:
    homes: dict[str, list[str]] = {}
    for tool in tools:
        module, function = how.module(tool.server), how.function(tool)
        home, name = ("servers", module) if "." in function else (f"servers.{module}", function)
        if tool.server == SKILLS:
            home, name = SKILLS, function
        homes.setdefault(home, []).append(name)
    return "\n".join(f"from {home} import {', '.join(dict.fromkeys(names))}" for home, names in homes.items())
