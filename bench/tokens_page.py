"""``python -m bench.tokens_page``: docs/explain/savings.md, and its summary in README.md, from what was measured.

Reads ``tokens.json``, ``tokens_idle.json`` and ``recorded.json`` of ``bench/out``: run ``make bench-tokens`` without and with
GRISTMILL_IDLE_TOOLS, and ``python -m bench.recorded FOLDER`` before.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT, PAGE, README = ROOT / "bench" / "out", ROOT / "docs" / "explain" / "savings.md", ROOT / "README.md"
BLOCK = re.compile(r"(<!-- tokens -->\n).*?(<!-- /tokens -->)", re.DOTALL)
WAYS = ("direct", "searched", "ours")

HEAD = """# What it saves

Made by `make bench-tokens`, `python -m bench.recorded FOLDER` and `python -m bench.tokens_page`. Tokens are counted with
o200k_base.

The same {tasks} questions over the [example apps](../guides/examples.md), three ways, through real servers and the real surface:

- **direct**: every tool's definition and every result in context. Calls that need not wait for each other go out together.
- **search then call**: our own search first, then only the definitions that it found, and direct calls.
- **Gristmill**: two definitions and the instructions; the search's answer, a program, what comes back.

A request sends all that was said before, so input adds up over requests. `cached` is the same input at the prices of a
prompt cache (1.25 for what is new, 0.1 for what is sent again). Definitions are name, description and input schema; results
are compact JSON, the fewest tokens that a client could spend on them. When the task's own query misses a tool, a second
search finds it, in both ways that search. Programs are written by hand, as a good model would write them at the first
attempt; a model that errs pays for another round. Every program's answer was compared with the database.
"""
READING = """
Where a question needs one small call, a program is dearer than search and a call: it is written in more tokens than the
call, and the surface has two definitions instead of one. The totals are ruled by the questions with large results; read the
median.
"""

_IDLE = "Tools of published servers that no task needs; their definitions are {idle_tokens:,} tokens."
RECORDED = """Saved: against direct calls, against search then call. Below zero it is dearer. "Right" are turns that printed
exactly what was recorded; an output that was cut costs one more request, which prints it, and is not counted as right. "Dearer"
are tasks that cost more than search then call with a prompt cache, and output at five times the price of input."""


RETURNED = ", values returned"
BOTH_FORMS = """the recorded programs end with a line that prints their last value as sorted JSON, so that outputs can be
compared to the byte. Search and calls have no such line. It costs {line} tokens of output per task. In the second row programs
end with the value itself, as models end them; nothing else differs."""


def page() -> str:
    """The whole page."""
    plain, idle, recorded = (
        json.loads((OUT / name).read_text()) for name in ("tokens.json", "tokens_idle.json", "recorded.json")
    )
    parts = [HEAD.format(tasks=len(plain["tasks"])), summary(plain, idle), READING]
    parts += [
        f"\n## Only the app's own tools\n\n{_table(plain)}",
        f"\n## Beside {idle['idle_tools']} idle tools\n\n{_IDLE.format(**idle)}\n\n{_table(idle)}",
    ]
    parts += [f"\n## Recorded environments\n\n{_recorded(recorded)}", f"\nCommit `{plain['commit']}`.\n"]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def summary(plain: dict[str, Any], idle: dict[str, Any]) -> str:
    """The lines that README shows too."""
    lines = [
        "| input tokens saved, % | total | p10 | median | p90 | tasks where we are dearer |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for title, document in (("own tools only", plain), (f"{idle['idle_tools']} idle tools attached", idle)):
        for key, against in (("input_vs_direct", "direct calls"), ("input_vs_searched", "search, then calls")):
            spread, dearer = document["saving"][key], len(document["dearer"][key])
            figures = " | ".join(f"{spread[name]:.1f}" for name in ("total", "p10", "p50", "p90"))
            lines.append(f"| against {against}, {title} | {figures} | {dearer} of {len(document['tasks'])} |")
    return "\n".join(lines)


def _table(document: dict[str, Any]) -> str:
    lines = [
        "| task | kind | calls | direct | search then call | Gristmill | cached: direct | search | ours | output | context |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|",
    ]
    for row in document["tasks"]:
        lines.append(f"| {row['id']} | {row['kind']} | {row['nested_calls']} | {_figures(row)} | {row['ours']['context']:,} |")
    lines.append(f"| total | | | {_figures(document['total'])} | |")
    dearer = ", ".join(document["dearer"]["input_vs_searched"]) or "none"
    than_direct = ", ".join(document["dearer"]["input_vs_direct"]) or "none"
    lines += ["", f"Dearer than search then call: {dearer}. Than direct calls: {than_direct}."]
    over = ", ".join(document["over_their_bar"]) or "none"
    return "\n".join([*lines, f"Over 2,000 (chat), 3,000 (sync) or 5,000 (report) tokens in the largest request: {over}."])


def _figures(row: dict[str, Any]) -> str:
    cells = [f"{row[way]['input']:,}" for way in WAYS] + [f"{row[way]['cached']:,.0f}" for way in WAYS]
    return " | ".join([*cells, " / ".join(str(row[way]["output"]) for way in WAYS)])


def _recorded(document: dict[str, Any]) -> str:
    lines = [
        "Public tasks with recorded results, one direct call per request; the user's own words are the first search.",
        "",
        "| environment | tasks, turns | right | direct | search then call | Gristmill | saved, % | cached, % | cut | dearer |",
        "|---|---|---:|---:|---:|---:|---|---|---:|---:|",
    ]
    for name, found in document["environments"].items():
        means = " | ".join(f"{found['mean'][way]['input']:,}" for way in WAYS)
        saved = f"{found['saving']['input_vs_direct']}, {found['saving']['input_vs_searched']}"
        cached = f"{found['saving']['cached_vs_direct']}, {found['saving']['cached_vs_searched']}"
        counts = f"{found['tasks']}, {found['turns']} | {found['turns_right']}"
        lines.append(f"| {name} | {counts} | {means} | {saved} | {cached} | {found['turns_cut']} | {found['dearer']} |")
    return "\n".join([*lines, "", RECORDED, *_explain_returned(document["environments"])])


def _explain_returned(environments: Mapping[str, Any]) -> list[str]:
    """The lines about environments that are measured in both forms."""
    lines: list[str] = []
    for name, found in environments.items():
        if printed := environments.get(name.removesuffix(RETURNED)) if name.endswith(RETURNED) else None:
            line = printed["mean"]["ours"]["output"] - found["mean"]["ours"]["output"]
            lines += ["", f"{name.removesuffix(RETURNED)}: {BOTH_FORMS.format(line=line)}"]
    return lines


def main() -> None:
    """Write both."""
    plain, idle = (json.loads((OUT / name).read_text()) for name in ("tokens.json", "tokens_idle.json"))
    PAGE.write_text(page())
    README.write_text(BLOCK.sub(lambda found: f"{found[1]}{summary(plain, idle)}\n{found[2]}", README.read_text()))


if __name__ == "__main__":
    main()
