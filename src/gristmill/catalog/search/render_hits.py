"""Renders search results as text that an agent can paste: imports, compact signatures, one-line docs, within the budget.

Each hit can be written in six ways, from its bare key to its signature with a line per parameter. All hits start as bare keys;
while the token budget lasts they are written more fully, the best hits first.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.search.compact_signature import make_identifier, render_compact_signature
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, SearchHit
from gristmill.catalog.types.loose_schema import read_parameter_descriptions, read_parameter_schemas, read_required_names
from gristmill.model import Tool

SKILLS = "skills"
"""The server name of skills; a skill is imported from the module of that name, not from ``servers``."""
_LINE_CHARS = 160
_UNSIGNED = 2  # ways of writing a tool that need no import
_STEPS: Mapping[DetailLevel, int] = {"name_only": 1, "with_description": 2, "full": 6}


def estimate_tokens(text: str) -> int:
    """Estimates tokens when no tokenizer is available; cautious: higher than o200k on code and on prose."""
    return -(-len(text.encode(errors="replace")) // 3)


class AnswerWriting(Struct, frozen=True, kw_only=True):
    """The caller's choice of how names, signatures and token counts are made."""

    signature: Callable[[Tool], str] = render_compact_signature
    """Its text begins with the function's name."""
    function: Callable[[Tool], str] = lambda tool: make_identifier(tool.name)
    module: Callable[[str], str] = make_identifier
    types: Callable[[Tool], Sequence[str]] = lambda _: ()
    """Returns lines that explain the types which the signature only names."""
    count: Callable[[str], int] = estimate_tokens
    mark: Callable[[Tool], str] = lambda _: ""
    """Returns a short warning about the tool, such as ``hidden characters``; empty for most tools."""


def render_hits(
    hits: Sequence[SearchHit],
    *,
    detail_level: DetailLevel = "full",
    budget_tokens: int = BUDGET_TOKENS,
    writing: AnswerWriting | None = None,
) -> str:
    """Returns the hits as text of at most ``budget_tokens`` by ``writing.count``; empty if not even one name fits."""
    how = _qualify_shared_names(hits, writing or AnswerWriting())
    written = [_write_all_ways(hit.tool, how, _STEPS[detail_level]) for hit in hits]
    levels = _choose_levels(_count_costs(hits, written, how), budget_tokens)
    text = _join_page(hits, written, levels, how)
    # The parts were counted one by one and joining them may cost a token more: shorten the last hit first.
    while text and how.count(text) > budget_tokens:
        last = max(i for i, level in enumerate(levels) if level >= 0)
        levels[last] -= 1
        text = _join_page(hits, written, levels, how)
    return text


def take_first_sentence(text: str, limit: int = _LINE_CHARS) -> str:
    """Returns the first sentence of ``text`` without line breaks or invisible characters: a comment cannot become code."""
    return _cut_text(re.split(r"(?<=[.!?])\s", _make_visible(text[: limit * 20]), maxsplit=1)[0], limit)


def _make_visible(text: str) -> str:
    seen = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(seen.split())


def _cut_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _qualify_shared_names(hits: Sequence[SearchHit], how: AnswerWriting) -> AnswerWriting:
    """Writes functions of two servers that share a name with their modules, because one import would hide the other."""
    homes: dict[str, set[str]] = {}
    for hit in hits:
        homes.setdefault(how.function(hit.tool), set()).add(hit.tool.server)
    shared = {name for name, servers in homes.items() if len(servers) > 1}

    def add_module(tool: Tool, text: str) -> str:
        return f"{how.module(tool.server)}.{text}" if how.function(tool) in shared and tool.server != SKILLS else text

    def signature(tool: Tool) -> str:
        return add_module(tool, how.signature(tool))

    def function(tool: Tool) -> str:
        return add_module(tool, how.function(tool))

    return replace(how, signature=signature, function=function) if shared else how


def _write_all_ways(tool: Tool, how: AnswerWriting, steps: int) -> list[str]:
    """Returns the tool written ever more fully: key, doc, folded and whole signature, its types, its parameters."""
    key, doc, mark = _write_key(tool), take_first_sentence(tool.description), how.mark(tool)
    if mark:
        key, doc = f"{key}  # [{mark}]", f"[{mark}] {doc}"
    unsigned = [key, f"{_write_key(tool)}  # {doc}" if doc else key]
    if steps <= _UNSIGNED:
        return unsigned[:steps]
    heading = f"# {doc}\n" if doc else ""
    folded, left_out = _fold_optional(tool)
    rest = f"  # {left_out} more: describe([{json.dumps(_write_key(tool))}])" if left_out else ""
    whole = f"{heading}{how.signature(tool)}"
    typed = whole + "".join(f"\n    # {_cut_text(_make_visible(line), _LINE_CHARS)}" for line in how.types(tool))
    lines = (
        f"\n    # {take_first_sentence(name, 80)}: {take_first_sentence(text, 100)}"
        for name, text in read_parameter_descriptions(tool).items()
    )
    return [*unsigned, f"{heading}{how.signature(folded)}{rest}", whole, typed, f"{typed}{''.join(lines)}"]


def _write_key(tool: Tool) -> str:
    return _cut_text(_make_visible(tool.key), _LINE_CHARS)


def _fold_optional(tool: Tool) -> tuple[Tool, int]:
    """Returns the tool with its required parameters only, and the number of others."""
    known, needed = read_parameter_schemas(tool), read_required_names(tool)
    kept = {name: schema for name, schema in known.items() if name in needed}
    return replace(tool, input_schema={"properties": kept, "required": sorted(kept)}), len(known) - len(kept)


def _count_costs(hits: Sequence[SearchHit], written: Sequence[Sequence[str]], how: AnswerWriting) -> list[list[int]]:
    """Returns the cost of each way of writing each hit; a signature includes an import line of its own."""
    costs: list[list[int]] = []
    for hit, ways in zip(hits, written, strict=True):
        importing = how.count(_write_imports([hit.tool], how) + "\n") if len(ways) > _UNSIGNED else 0
        costs.append([how.count(way + "\n\n") + (importing if i >= _UNSIGNED else 0) for i, way in enumerate(ways)])
    return costs


def _choose_levels(costs: Sequence[Sequence[int]], budget: int) -> list[int]:
    """Returns how fully each hit is written: breadth first, so that the last has a name before the first has parameters."""
    levels = [-1] * len(costs)
    spent = 0
    for level in range(max((len(steps) for steps in costs), default=0)):
        for i, steps in enumerate(costs):
            more = steps[level] - (steps[levels[i]] if levels[i] >= 0 else 0)
            if spent + more <= budget:
                levels[i] = level
                spent += more
    return levels


def _join_page(hits: Sequence[SearchHit], written: Sequence[Sequence[str]], levels: Sequence[int], how: AnswerWriting) -> str:
    shown = [(hit.tool, ways[level], level) for hit, ways, level in zip(hits, written, levels, strict=True) if level >= 0]
    imports = _write_imports([tool for tool, _, level in shown if level >= _UNSIGNED], how)
    parts = [imports, *(text for _, text, _ in shown)]
    between = "\n\n" if imports else "\n"
    return between.join(part for part in parts if part)


def _write_imports(tools: Sequence[Tool], how: AnswerWriting) -> str:
    homes: dict[str, list[str]] = {}
    for tool in tools:
        module, function = how.module(tool.server), how.function(tool)
        home, name = ("servers", module) if "." in function else (f"servers.{module}", function)
        if tool.server == SKILLS:
            home, name = SKILLS, function
        homes.setdefault(home, []).append(name)
    return "\n".join(f"from {home} import {', '.join(dict.fromkeys(names))}" for home, names in homes.items())
