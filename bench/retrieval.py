"""The public retrieval sets and how a ranking is scored. Standard library only: the baselines read it too."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETS = ("livemcp", "sealtools", "bfcl", "toolret_apigen", "toolbench", "metatool")
DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One tool of a set."""

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSet:
    """Tools, questions, and per question the groups of tools that answer it, as positions in ``tools``."""

    name: str
    tools: tuple[Definition, ...]
    queries: tuple[str, ...]
    groups: tuple[tuple[frozenset[int], ...], ...]


def bench_folder() -> Path:
    """Where the benchmark data is: ``GRISTMILL_BENCH_DATA``, else ``../shared/bench`` beside the repository."""
    given = os.environ.get("GRISTMILL_BENCH_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "bench"


def load_set(name: str) -> RetrievalSet:
    """Read one set; only the dev split is there."""
    folder = bench_folder() / "retrieval" / name
    tools = _lines(folder / "tools.jsonl")
    queries = _lines(folder / "queries.jsonl")
    position = {tool["id"]: i for i, tool in enumerate(tools)}
    return RetrievalSet(
        name=name,
        tools=tuple(
            Definition(
                server=tool["server"],
                name=tool["name"],
                description=tool["description"] or "",
                schema=tool["schema"] or {},
            )
            for tool in tools
        ),
        queries=tuple(query["text"] for query in queries),
        groups=tuple(
            tuple(frozenset(position[tool] for tool in group if tool in position) for group in query["groups"])
            for query in queries
        ),
    )


def plain_text(tool: Definition) -> str:
    """The document every baseline gets: server, name, description, parameters with their descriptions."""
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    parameters = (f"{name} {_description(schema)}" for name, schema in properties.items())
    return " ".join((tool.server, tool.name, tool.description, *parameters))


def ndcg(ranking: Sequence[int], groups: Sequence[frozenset[int]], depth: int = 10) -> float:
    """Normalised discounted gain over groups: the first tool of each group counts, once."""
    open_groups = list(groups)
    gain = 0.0
    for rank, tool in enumerate(ranking[:depth]):
        found = next((group for group in open_groups if tool in group), None)
        if found is not None:
            open_groups.remove(found)
            gain += 1 / math.log2(rank + 2)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(groups))))


def recall(ranking: Sequence[int], groups: Sequence[frozenset[int]], depth: int) -> float:
    """The share of groups with a tool among the first ``depth``."""
    top = set(ranking[:depth])
    return sum(bool(top & group) for group in groups) / len(groups)


def score(rankings: Sequence[Sequence[int]], groups: Sequence[Sequence[frozenset[int]]]) -> dict[str, list[float]]:
    """Every measure of every question, so that sets can be pooled."""
    pairs = list(zip(rankings, groups, strict=True))
    measures = {"ndcg@10": [ndcg(ranking, group) for ranking, group in pairs]}
    for depth in DEPTHS:
        measures[f"recall@{depth}"] = [recall(ranking, group, depth) for ranking, group in pairs]
    return measures


def _description(schema: Any) -> str:
    return schema.get("description", "") if isinstance(schema, dict) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
