"""``python -m bench.models.models_page``: docs/explain/models.md from the runs under ``bench/out/models``.

The run with the label ``now`` (``--label`` chooses another) is shown in full; ``before``, if it is there, is compared with it.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.opening import ROOT

from bench.models.judge import FAILURES
from bench.models.toolboxes import ARMS

OUT, PAGE = ROOT / "bench" / "out" / "models", ROOT / "docs" / "explain" / "models.md"
NAMES = {"direct": "direct calls", "search": "search then call", "code": "code"}
Run = dict[str, Any]

HEAD = """# A model in the loop

Made by `make bench-models` and `python -m bench.models.models_page`. [What it saves](savings.md) counts the tokens of
programs that were written by hand; here a real model writes them, and errs.

The questions are those of the [example apps](../guides/examples.md) and recorded public ones. Each is one conversation,
three ways:

- **direct calls**: all tools of the app, results in full;
- **search then call**: our `search_tools` alone; each search adds the definitions of what it found;
- **code**: our `search_tools` and `execute_code`, with the gateway's instructions.

All of it goes through real MCP servers and the real gateway. An answer is right if it is the truth in the app's
database; a recorded task, if the calls that change something are those that were recorded. Temperature 0, one seed.
Tokens are those that the endpoint counted, over all requests of a task; attempts are tool calls without searches. A
call that a model writes into its text, and a program in a fenced block, count as calls, in all ways alike.

To measure your own model:

```text
GRISTMILL_MODEL_URL=https://host/v1 GRISTMILL_MODEL_KEY=... GRISTMILL_MODEL_NAME=... make bench-models
```

Without a URL a small local model (1.1 GB) is installed into `.tools/model` and served there. `ARGS="--tasks six --arms
code --limit 3"` takes a part; a run that was stopped goes on where it was. `--recorded FOLDER` adds the recorded tasks.
"""


def write_page(run: Run, before: Run | None) -> str:
    """Writes the whole page."""
    parts = [HEAD, f"## {run['model']}", _describe(run), _write_arms(run), _write_failures(run)]
    if before is not None:
        parts += ["## Before and after", _write_comparison(before, run)]
    parts += ["## Task by task", _write_tasks(run), "## Where code lost", _write_lost(run)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _describe(run: Run) -> str:
    protocol = {
        "text": "Tools are defined and called in the text of messages",
        "tools": "Tools are defined and called by the API's own fields",
    }[run["protocol"]]
    first = "; the first search, with the user's words, is made for the model" if run["search_first"] else ""
    return (
        f"Commit `{run['source']}`, at most {run['requests']} requests and the answer per task, {run['max_tokens']} tokens per "
        f"request. {protocol}{first}."
    )


def _write_arms(run: Run) -> str:
    lines = [
        "| way | right | attempts | of them failed | requests | tokens in | tokens out | minutes |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for arm in ARMS:
        if (found := run["arms"][arm])["tasks"]:
            lines.append(
                f"| {NAMES[arm]} | {found['right']} of {found['tasks']} | {found['attempts']} | {found['failed_attempts']} | "
                f"{found['requests']} | {found['tokens_in']:,} | {found['tokens_out']:,} | {found['seconds'] / 60:.1f} |"
            )
    return "\n".join(lines)


def _write_failures(run: Run) -> str:
    arms = [arm for arm in ARMS if run["arms"][arm]["tasks"]]
    lines = [f"| why a task failed | {' | '.join(NAMES[arm] for arm in arms)} |", "|---|" + "---:|" * len(arms)]
    for name, meaning in FAILURES.items():
        counts = [run["arms"][arm]["failures"].get(name, 0) for arm in arms]
        if any(counts):
            lines.append(f"| {meaning} | {' | '.join(map(str, counts))} |")
    errors = {arm: run["arms"][arm]["errors"] for arm in arms if run["arms"][arm]["errors"]}
    told = [
        f"{NAMES[arm].capitalize()}: " + ", ".join(f"`{name[:60]}` {count}" for name, count in found.items())
        for arm, found in errors.items()
    ]
    return "\n".join([*lines, "", "Errors that the tools answered:", "", *(f"- {one}" for one in told)] if told else lines)


def _write_comparison(before: Run, run: Run) -> str:
    same = {(row["task"], row["arm"]) for row in before["tasks"]} & {(row["task"], row["arm"]) for row in run["tasks"]}
    lines = [f"The same {len(same)} conversations with commit `{before['source']}` and with `{run['source']}`.", "",
             "| way | right before | right now | failed attempts before | now | tokens in before | now |",
             "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for arm in ARMS:
        pair = [_choose(each, arm, same) for each in (before, run)]
        if pair[0]:
            cells = [
                f"{sum(row[key] for row in rows):,}" for key in ("is_right", "failed_attempts", "tokens_in") for rows in pair
            ]
            lines.append(f"| {NAMES[arm]} ({len(pair[0])}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def _choose(run: Run, arm: str, same: set[tuple[str, str]]) -> list[dict[str, Any]]:
    return [row for row in run["tasks"] if row["arm"] == arm and (row["task"], arm) in same]


def _write_tasks(run: Run) -> str:
    by_task: dict[str, dict[str, dict[str, Any]]] = {}
    for row in run["tasks"]:
        by_task.setdefault(row["task"], {})[row["arm"]] = row
    arms = [arm for arm in ARMS if run["arms"][arm]["tasks"]]
    head = f"| task | {' | '.join(f'{NAMES[arm]} | tokens in, out' for arm in arms)} |"
    lines = [head, "|---|" + "---|---:|" * len(arms)]
    lines += [f"| {task} | {' | '.join(_write_cell(rows.get(arm)) for arm in arms)} |" for task, rows in by_task.items()]
    return "\n".join(lines)


def _write_cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return " | "
    return f"{'right' if row['is_right'] else row['failure']} | {row['tokens_in']:,}, {row['tokens_out']:,}"


def _write_lost(run: Run) -> str:
    right = {arm: {row["task"] for row in run["tasks"] if row["arm"] == arm and row["is_right"]} for arm in ARMS}
    lost = sorted((right["direct"] | right["search"]) - right["code"])
    tokens = {(row["task"], row["arm"]): row["tokens_in"] for row in run["tasks"]}
    dearer = sorted(
        task for task in right["code"] & right["search"] if tokens[(task, "code")] > tokens[(task, "search")]
    )  # fmt: skip
    return "\n".join(
        [
            f"- Right with another way, and not with code: {_list(lost)}.",
            f"- Right with search then call and with code, and code took more tokens in: {_list(dearer)}.",
        ]
    )


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--label", default="now")
    parser.add_argument("--before", default="before")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    before = chosen.out / f"{chosen.before}.json"
    run = json.loads((chosen.out / f"{chosen.label}.json").read_text())
    PAGE.write_text(write_page(run, json.loads(before.read_text()) if before.exists() else None))


if __name__ == "__main__":
    main()
