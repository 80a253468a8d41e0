"""What all candidates share: how times become quantiles, and the programs with their expected results. Standard library only."""

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SNIPPETS = Path(__file__).parents[1] / "snippets"
EXPECT = "# expect: "
AGGREGATE = """
totals = {}
for row in ROWS:
    if row["open"]:
        totals[row["region"]] = totals.get(row["region"], 0) + row["amount"]
"""
"""What is done with 10,000 rows; ``ROWS`` stands for the way to get them."""
PERCENT = (5, 25, 50, 75, 95, 99)


def quantiles(seconds: Iterable[float], scale: float = 1.0) -> dict[str, float]:
    """What is kept of a list of times, each multiplied by ``scale``."""
    values = sorted(value * scale for value in seconds)
    cut = {f"p{percent}": values[min(len(values) - 1, len(values) * percent // 100)] for percent in PERCENT}
    return {"n": len(values), "min": values[0], "max": values[-1], "mean": statistics.fmean(values), **cut}


def load_snippets() -> dict[str, tuple[str, Any]]:
    """Name -> program and expected value, which stands in the file's second line."""
    found: dict[str, tuple[str, Any]] = {}
    for path in sorted(SNIPPETS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        expected = next(line for line in text.splitlines() if line.startswith(EXPECT))
        found[path.stem] = (text, json.loads(expected.removeprefix(EXPECT)))
    return found


def judge(value: Any, expected: Any) -> str:
    """``ok``, or what is wrong."""
    same = json.loads(json.dumps(value)) == expected
    return "ok" if same else f"wrong result: {value!r}"[:200]
