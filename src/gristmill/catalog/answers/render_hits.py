"""Renders search results as text that an agent can paste: imports, compact signatures, one-line docs, within the budget.

Each hit can be written in several ways, from its bare key to its signature with a line per parameter. All hits start as keys;
while the token budget lasts they are written more fully, the best hits first. Only the first two get types and parameters, unless
everything is asked for: an answer is read far more often than it is used whole.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.answers.choose_details import FULL_HITS, HitDetails
from gristmill.catalog.answers.compact_signature import make_identifier, render_compact_signature
from gristmill.catalog.answers.explain_parameters import explain_parameters
from gristmill.catalog.answers.first_sentences import LINE_CHARS, cut_text, find_repeated, make_visible, split_sentences
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, SearchHit
from gristmill.catalog.types.loose_schema import read_parameter_schemas, read_required_names
from gristmill.model import Tool

SKILLS = "skills"
"""The server name of skills; a skill is imported from the module of that name, not from ``servers``."""
MOST_OPTIONAL = 4
"""How many optional parameters a signature shows if there are more; the others are named in a line of their own."""
MOST_NAMED = 12
_SHORT_LINE_CHARS = 100
_LONGEST_NAME = 40
_LABEL = re.compile(r"^(?:tool )?description: *", re.IGNORECASE)
_UNSIGNED = 2  # ways of writing a tool that need no import
_STEPS: Mapping[DetailLevel, int] = {"name_only": 1, "with_description": 2, "full": 6}
_RARELY_SET = frozenset(
    "page per_page page_size pagesize page_token cursor offset limit start after before fields format output_format "
    "response_format verbose debug timeout locale lang language timezone sort order sort_by order_by direction include exclude "
    "expand dry_run".split()
)


def estimate_tokens(text: str) -> int:
    """Estimates tokens when no tokenizer is available; cautious: higher than o200k on code and on prose."""
    return -(-len(text.encode(errors="replace")) // 3)


class AnswerWriting(Struct, frozen=True, kw_only=True):
    """The caller's choice of how names, signatures and token counts are made."""

    signature: Callable[[Tool], str] = render_compact_signature
    """Its text begins with the function's name."""
    typed: Callable[[Tool], tuple[str, Sequence[str]]] | None = None
    """Returns the signature with the fields of the types, and lines that define the types it names; None: there are no more."""
    function: Callable[[Tool], str] = lambda tool: make_identifier(tool.name)
    module: Callable[[str], str] = make_identifier
    count: Callable[[str], int] = estimate_tokens
    mark: Callable[[Tool], str] = lambda _: ""
    """Returns a short warning about the tool, such as ``hidden characters``; empty for most tools."""
    complete: bool = False
    """Whether every hit is written in full, with every parameter."""
    also: Mapping[str, Sequence[str]] = {}
    """The keys of the same tool on other servers, by key."""
    similar: Mapping[str, Sequence[str]] = {}
    """The keys of tools that are nearly the same, by key."""
    shown: Collection[str] = ()
    """The keys of tools that this conversation has seen already: they are named, not repeated."""
    details: HitDetails | None = None
    """How fully each hit is written; None: by its rank alone."""
    notes: Sequence[str] = ()
    """Lines that stand below the hits."""
    repeated: frozenset[str] = frozenset()
    """Sentences that several tools share: they tell none from another."""


def render_hits(
    hits: Sequence[SearchHit],
    *,
    detail_level: DetailLevel = "full",
    budget_tokens: int = BUDGET_TOKENS,
    writing: AnswerWriting | None = None,
) -> str:
    """Returns the hits as text of at most ``budget_tokens`` by ``writing.count``; empty if not even one name fits."""
    how = writing or AnswerWriting()
    notes = _write_notes(hits, how) if detail_level == "full" else ""
    room = budget_tokens - how.count(notes) - 1 if notes else budget_tokens
    if room <= 0:
        notes, room = "", budget_tokens
    details = how.details or HitDetails(full=tuple(hit.tool.key for hit in hits[:FULL_HITS]))
    unwritten = {*how.shown, *details.named, *details.left_out} if detail_level == "full" else set[str]()
    left = [hit for hit in hits if hit.tool.key not in unwritten]
    how = replace(_qualify_shared_names(left, how), repeated=how.repeated | find_repeated([hit.tool for hit in left]))
    written = [
        _write_all_ways(hit.tool, how, _STEPS[detail_level], full=how.complete or hit.tool.key in details.full) for hit in left
    ]
    levels = _choose_levels(_count_costs(left, written, how), room)
    text = _join_page(left, written, levels, how)
    # The parts were counted one by one and joining them may cost a token more: shorten the last hit first.
    while text and how.count(text) > room:
        last = max(i for i, level in enumerate(levels) if level >= 0)
        levels[last] -= 1
        text = _join_page(left, written, levels, how)
    whole = "\n\n".join(part for part in (text, notes) if part)
    return whole if how.count(whole) <= budget_tokens else text


def _write_notes(hits: Sequence[SearchHit], how: AnswerWriting) -> str:
    named = how.details.named if how.details else ()
    seen = [hit.tool for hit in hits if hit.tool.key in how.shown and hit.tool.key not in named]
    weak = [hit.tool for hit in hits if hit.tool.key in named and hit.tool.key not in how.shown]
    lines = (
        *_name_tools("less likely", weak, how),
        *_name_tools('shown before, detail_level="full" repeats', seen, how),
        *how.notes,
    )
    return "\n".join(f"# {make_visible(line)}" for line in lines)


def _choose_sentence(tool: Tool, how: AnswerWriting, limit: int) -> str:
    """Returns the first sentence that tells the tool from the other hits; the first of all if none does."""
    sentences = split_sentences(tool.description)
    chosen = next((each for each in sentences if each not in how.repeated), sentences[0] if sentences else "")
    return cut_text(_LABEL.sub("", chosen), limit)


def _name_tools(heading: str, tools: Sequence[Tool], how: AnswerWriting) -> list[str]:
    """Returns one line that names tools with their parameters: enough to call them, as programs need no import for that."""
    names = [_name_tool(tool, how) for tool in tools]
    return [f"{heading}: {'; '.join(names)}"] if names else []


def _name_tool(tool: Tool, how: AnswerWriting) -> str:
    mark = how.mark(tool)
    name = f"{how.module(tool.server)}.{how.function(tool)}({', '.join(_list_arguments(tool))})"
    return f"{name} [{mark}]" if mark else name


def _list_arguments(tool: Tool) -> list[str]:
    needed = read_required_names(tool)
    names = sorted(read_parameter_schemas(tool), key=lambda name: name not in needed)
    return [make_identifier(name) + ("" if name in needed else "=...") for name in names[:MOST_NAMED]]


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

    def typed(tool: Tool) -> tuple[str, Sequence[str]]:
        text, lines = how.typed(tool) if how.typed else (how.signature(tool), ())
        return add_module(tool, text), lines

    def function(tool: Tool) -> str:
        return add_module(tool, how.function(tool))

    return replace(how, signature=signature, typed=typed, function=function) if shared else how


def _write_all_ways(tool: Tool, how: AnswerWriting, steps: int, *, full: bool) -> list[str]:
    """Returns the tool written ever more fully: key, doc, required and usual parameters, its types, its parameters."""
    doc, mark = _choose_sentence(tool, how, LINE_CHARS if full else _SHORT_LINE_CHARS), how.mark(tool)
    key = _write_key(tool)
    if mark:
        key, doc = f"{key}  # [{mark}]", f"[{mark}] {doc}"
    unsigned = [key, f"{_write_key(tool)}  # {doc}" if doc else key]
    if steps <= _UNSIGNED:
        return unsigned[:steps]
    others = [
        f"{word}: {', '.join(map(make_visible, keys))}"
        for word, keys in (("also on", how.also.get(tool.key)), ("nearly the same", how.similar.get(tool.key)))
        if keys
    ]
    heading = "".join(f"# {line}\n" for line in (doc, *others) if line)
    usual = list(read_parameter_schemas(tool)) if how.complete else choose_usual_parameters(tool)
    needed = [name for name in usual if name in read_required_names(tool)]
    if not full:
        return [*unsigned, _write_line(tool, how, needed, "; ".join(part for part in (doc, *others) if part))]
    bare = _write_signature(tool, how, heading, needed)
    whole = _write_signature(tool, how, heading, usual)
    if how.typed is None:
        typed = whole
    else:
        text, lines = how.typed(_keep_parameters(tool, usual))
        typed = f"{heading}{text}{_name_others(tool, usual)}" + "".join(f"\n    # {make_visible(line)}" for line in lines)
    explained = explain_parameters(tool, usual, said=None if how.complete else doc)
    return [*unsigned, bare, whole, typed, typed + "".join(f"\n    # {line}" for line in explained)]


def _write_line(tool: Tool, how: AnswerWriting, needed: Collection[str], comment: str) -> str:
    """Returns the signature on one line: types for what is required, names for what is not."""
    signature = how.signature(_keep_parameters(tool, needed))
    others = [make_identifier(name)[:_LONGEST_NAME] for name in read_parameter_schemas(tool) if name not in needed]
    head, found, tail = signature.partition(") -> ") if ") -> " in signature else (signature.removesuffix(")"), ")", "")
    if others and len(others) <= MOST_NAMED and found:
        named = ", ".join(f"{name}=..." for name in others)
        signature = f"{head}{'' if head.endswith('(') else ', '}{named}{found}{tail}"
    elif others:
        comment = f"{comment} {len(others)} more: describe([{json.dumps(_write_key(tool))}])".strip()
    return f"{signature}  # {comment}" if comment else signature


def _write_signature(tool: Tool, how: AnswerWriting, heading: str, names: Collection[str]) -> str:
    return f"{heading}{how.signature(_keep_parameters(tool, names))}{_name_others(tool, names)}"


def choose_usual_parameters(tool: Tool) -> list[str]:
    """Returns the parameters that a signature shows: the required ones, and of many optional ones the first that people set."""
    known, needed = read_parameter_schemas(tool), read_required_names(tool)
    optional = [name for name in known if name not in needed]
    if len(optional) > MOST_OPTIONAL:
        usual = [name for name in optional if name.lower() not in _RARELY_SET] or optional
        optional = usual[:MOST_OPTIONAL]
    kept = {*needed, *optional}
    return [name for name in known if name in kept]


def _name_others(tool: Tool, names: Collection[str]) -> str:
    others = [name for name in read_parameter_schemas(tool) if name not in names]
    if not others:
        return ""
    if len(others) > MOST_NAMED:
        return f"  # {len(others)} more: describe([{json.dumps(_write_key(tool))}])"
    return f"  # optional: {', '.join(make_identifier(name)[:_LONGEST_NAME] for name in others)}"


def _keep_parameters(tool: Tool, names: Collection[str]) -> Tool:
    """Returns the tool with these parameters only, so that a signature of them can be written."""
    known = read_parameter_schemas(tool)
    if len(names) == len(known):
        return tool
    properties = {name: schema for name, schema in known.items() if name in names}
    required = [name for name in properties if name in read_required_names(tool)]
    definitions = {name: tool.input_schema[name] for name in ("$defs", "definitions") if name in tool.input_schema}
    return replace(tool, input_schema={**definitions, "type": "object", "properties": properties, "required": required})


def _write_key(tool: Tool) -> str:
    return cut_text(make_visible(tool.key), LINE_CHARS)


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
            if level >= len(steps):
                continue
            more = steps[level] - (steps[levels[i]] if levels[i] >= 0 else 0)
            if spent + more <= budget:
                levels[i] = level
                spent += more
    return levels


def _join_page(hits: Sequence[SearchHit], written: Sequence[Sequence[str]], levels: Sequence[int], how: AnswerWriting) -> str:
    shown = [(hit.tool, ways[level], level) for hit, ways, level in zip(hits, written, levels, strict=True) if level >= 0]
    imports = _write_imports([tool for tool, _, level in shown if level >= _UNSIGNED], how)
    page = imports
    for (_, text, level), before in zip(shown, [None, *shown], strict=False):
        # Blank lines stand only around what takes several lines.
        is_close = not imports if before is None else "\n" not in before[1] + text or level < _UNSIGNED
        page += f"{'' if not page else chr(10) if is_close else chr(10) * 2}{text}"
    return page


def _write_imports(tools: Sequence[Tool], how: AnswerWriting) -> str:
    homes: dict[str, list[str]] = {}
    for tool in tools:
        module, function = how.module(tool.server), how.function(tool)
        home, name = ("servers", module) if "." in function else (f"servers.{module}", function)
        if tool.server == SKILLS:
            home, name = SKILLS, function
        homes.setdefault(home, []).append(name)
    return "\n".join(f"from {home} import {', '.join(dict.fromkeys(names))}" for home, names in homes.items())
