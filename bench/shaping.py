"""What shaping costs: the time of one small outcome, and of 20 MB as a ratio to reading the same bytes as JSON.

CPU time is what is measured. ``python -m bench.shaping`` prints the document and writes it to ``bench/out/shaping.json``.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import machine
from gristmill.model import Budget, Report, Strategy
from gristmill.shaping.shape_report import shape_report
from gristmill.shaping.token_fit import count_tokens
from gristmill.shaping.values.compact_json import encode_json, encode_json_text

FILE = Path(__file__).parent / "out" / "shaping.json"
SMALL = Report(status="ok", output="3 customers\n", result={"total": 3, "names": ["Ann", "Bob", "Eve"], "sum": 12.5})
SMALL_RUNS, LARGE_RUNS = 20_000, 5
LARGE_BYTES = 20_000_000
STRATEGIES: tuple[Strategy, ...] = ("summarize", "head_tail", "sample", "schema_only")


def measure() -> dict[str, Any]:
    """All figures, with where they were made."""
    rows = _rows()
    encoded = encode_json(rows) or b""
    loads = _median(lambda: json.loads(encoded), LARGE_RUNS)
    report = Report(status="ok", result=rows)
    shape_report(report, budget=Budget(), spill=_keep)  # loads the tokenizer
    seconds = {
        strategy: _median(lambda chosen=strategy: shape_report(report, budget=Budget(), strategy=chosen, spill=_keep), LARGE_RUNS)
        for strategy in STRATEGIES
    }
    text = "\n".join(f"{row['at']} {row['name']} paid {row['total']}" for row in rows)[:1_000_000]
    printed = Report(status="ok", output=text)
    returned = count_tokens(encode_json_text(shape_report(report, budget=Budget(), spill=_keep).result))
    return {
        "command": "python -m bench.shaping",
        "clock": "CPU seconds, median: it is one thread, and a busy machine does not change them much",
        "commit": machine.commit(),
        "machine": machine.describe(),
        "small_us": round(_median(lambda: shape_report(SMALL, budget=Budget(), spill=_keep), SMALL_RUNS) * 1e6, 2),
        "large": {
            "bytes": len(encoded),
            "rows": len(rows),
            "returned_tokens": returned,
            "json_loads_s": round(loads, 3),
            "shape_s": {strategy: round(taken, 3) for strategy, taken in seconds.items()},
            "ratio_to_json_loads": {strategy: round(taken / loads, 2) for strategy, taken in seconds.items()},
        },
        "printed_1_mb_s": round(_median(lambda: shape_report(printed, budget=Budget(), spill=_keep), LARGE_RUNS), 3),
    }


def _rows() -> list[dict[str, Any]]:
    def row(number: int) -> dict[str, Any]:
        at = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"
        return {"id": number, "name": f"customer {number}", "at": at, "total": number * 1.25, "note": "called back later"}

    size = len(encode_json(row(100_000)) or b"") + 1
    return [row(number) for number in range(LARGE_BYTES // size)]


def _keep(name: str, _content: bytes) -> str | None:
    return f"results/bench-{name}"


def _median(run: Callable[[], object], times: int) -> float:
    # A clock of processes ticks in microseconds at best: short runs are timed by the hundred.
    together = 100 if times > 1_000 else 1
    taken: list[float] = []
    for _ in range(times // together):
        started = time.process_time()
        for _ in range(together):
            run()
        taken.append((time.process_time() - started) / together)
    return statistics.median(taken)


if __name__ == "__main__":
    document = json.dumps(measure(), indent=2)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document + "\n", encoding="utf-8")
    print(document)
