"""``python -m bench.render_growth``: write docs/explain/growth.md from the JSON of ``make bench-growth``; no number by hand."""

import json
from pathlib import Path
from typing import Any

from bench.growth import OUT

PAGE = Path(__file__).parents[1] / "docs" / "explain" / "growth.md"
FLAT = 0.3
"""An answer whose exponent is at most this grows with noise and the depth of an index, not with the history."""
INTRO = """# Growth

How long each answer takes with a short and with a long history behind it. `make bench-growth` fills a store through the code
that records executions in use, ten calls each, spread over 30 days, five tenants and twenty callers, and times each answer at
each size (the median of several tries); `python -m bench.render_growth` writes this page from `bench/out/growth.json`. The
exponent is the slope of time over history on logarithmic scales: 0 is flat, 1 grows as the history does.
"""
NOTES = """
## What is not flat

- What is asked for grows itself: the longer histories are denser, so one session, one day and the records since yesterday hold
  as many times more. Their accounts and their verifying take as long as what they hold.
- `gristmill audit verify` without `--days` reads every record, because that is what it promises. With `--days N`
  (`GET /audit/verify?since=`) it begins at the last signed place before that time.
- The account of a whole tenant without a time (`gristmill stats`, `GET /stats`) adds up every conversation on record, at most
  the newest 100,000 calls. Ask for a time or a session where the history is long.
- A list with a rare condition that no index knows, such as all tools of a server that is hardly ever called, walks back until
  it has found enough records of the tenant.
"""


def render_page(found: dict[str, Any]) -> str:
    """Returns the whole page."""
    machine, sizes = found["machine"], found["sizes"]
    where = (
        f"Commit `{found['commit']}`; {machine['cpu']}, {machine['cores']} cores, {machine['memory_mb']:,} MB, "
        f"Linux {machine['kernel']}, Python {machine['python']}, {found['store']}; load before the run {machine['load_before']}."
    )
    heads = " | ".join(f"{size:,} executions" for size in sizes)
    lines = [INTRO, where, "", f"| milliseconds with | {heads} | exponent | |", f"|---|{'---:|' * len(sizes)}---:|---|"]
    for name, row in found["history"].items():
        values = " | ".join(f"{value:,.2f}" for value in row["values"])
        lines.append(f"| {name} | {values} | {row['exponent']:.2f} | {'flat' if row['exponent'] <= FLAT else 'grows'} |")
    return "\n".join(lines) + "\n" + NOTES


def main() -> None:
    """Reads, renders, writes."""
    PAGE.write_text(render_page(json.loads(OUT.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
