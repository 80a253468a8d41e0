"""``python -m bench.render``: write docs/explain/numbers.md from the JSON of the last full run. No number is typed by hand."""

import argparse
import sys
from pathlib import Path

from bench.figures import FIGURES, REFERENCE, Figure
from bench.results import FILE, Results, show, show_ratio
from bench.table import bar, troubles

PAGE = Path(__file__).parents[1] / "docs" / "explain" / "numbers.md"
INTRO = """# Numbers

Made by `make bench`, which measures Gristmill, its peers and the floors under both in one run, on one machine, and by
`python -m bench.render`, which writes this page from `bench/out/sandbox.json`. How each figure is made stands below the tables;
`bench/README.md` says how to repeat them. Trust ratios more than milliseconds.
"""


def page(results: Results) -> str:
    """The whole page."""
    parts = [INTRO, _where(results), _ours(results), _against(results), _speed(results), _snippets(results), _methods(results)]
    return "\n".join(part for part in parts if part)


def _where(results: Results) -> str:
    document, machine = results.document, results.document["machine"]
    note = "\n**A quick run: enough to see that everything works, not to be quoted.**\n" if document["quick"] else ""
    return (
        f"Commit `{document['commit']}`, {document['date']}, `{document['command']}`; {machine['cpu']}, {machine['cores']} "
        f"cores, {machine['memory_mb']:,} MB, Linux {machine['kernel']}, Python {machine['python']}, as {machine['user']}; "
        f"load before the run {machine['load_before']}.\n{note}"
    )


def _ours(results: Results) -> str:
    rows = ["## Gristmill", "", "| figure | median | p95 | bar | |", "|---|---:|---:|---:|---|"]
    for figure in FIGURES:
        found = results.found(figure.name)
        if not found:
            continue
        value = "failed" if "error" in found else f"{show(found['p50'], figure.unit)} {figure.unit}".strip()
        p95 = show(found["p95"], figure.unit) if "p95" in found else ""
        rows.append(f"| {figure.title} | {value} | {p95} | {_bar(figure)} | {results.verdict(figure)} |")
    return "\n".join(rows) + "\n"


def _bar(figure: Figure) -> str:
    ratio = f", at most {figure.ratio_bar[1]} x {figure.ratio_bar[0]}" if figure.ratio_bar else ""
    return bar(figure) + ratio


def _against(results: Results) -> str:
    peers = results.peers()
    if not peers:
        return ""
    titles = [results.document["peers"][peer]["title"] for peer in peers]
    rows = ["## Against peers and floors", ""]
    rows += [
        "A peer's median, and ours divided by it: below 1 is faster than the peer, for rates and programs above 1 is more.",
        "",
    ]
    rows += [f"| figure | Gristmill | {' | '.join(titles)} |", "|---|---:|" + "---:|" * len(peers)]
    for figure in FIGURES:
        cells = [_cell(results, figure, peer) for peer in peers]
        if any(cells):
            ours = show(results.value(figure.name), figure.unit)
            rows.append(f"| {figure.title}, {figure.unit} | {ours} | {' | '.join(cells)} |")
    notes = [
        f"- {results.document['peers'][peer]['title']}: {results.document['peers'][peer].get('notes') or 'not measured'}."
        for peer in peers
    ]
    return "\n".join([*rows, "", *notes]) + "\n"


def _cell(results: Results, figure: Figure, peer: str) -> str:
    found = results.found(figure.name, peer)
    if not found:
        return ""
    ratio = results.ratio(figure.name, peer)
    return (
        "failed"
        if "error" in found
        else show(found["p50"], figure.unit) + (f" ({show_ratio(ratio)})" if ratio is not None else "")
    )


def _speed(results: Results) -> str:
    """The peers here and where the bars were set: a bar in milliseconds means another thing on another machine."""
    rows: list[str] = []
    figures = {figure.name: figure for figure in FIGURES}
    for (name, peer), before in REFERENCE.items():
        now, figure = results.value(name, peer), figures[name]
        if now:
            slower = before / now if figure.more_is_better else now / before
            title = results.document["peers"][peer]["title"]
            there, here = show(before, figure.unit), show(now, figure.unit)
            rows.append(f"| {figure.title}, {figure.unit} | {title} | {there} | {here} | {slower:.1f} |")
    if not rows:
        return ""
    head = ["## This machine", "", "The same peers where the bars were set, and here: what a millisecond of a bar is worth.", ""]
    head += ["| figure | peer | there | here | times slower here |", "|---|---|---:|---:|---:|"]
    return "\n".join([*head, *rows]) + "\n"


def _snippets(results: Results) -> str:
    columns = {who: results.found("snippets", who).get("each", {}) for who in results.document["peers"]}
    columns = {who: each for who, each in columns.items() if each}
    if not columns:
        return ""
    titles = [results.document["peers"][who]["title"] for who in columns]
    rows = ["## Programs of the kind models write", "", f"| program | {' | '.join(titles)} |", "|---|" + "---|" * len(columns)]
    for name in sorted({name for each in columns.values() for name in each}):
        rows.append(f"| {name} | {' | '.join('yes' if each.get(name) == 'ok' else 'no' for each in columns.values())} |")
    return "\n".join(rows) + "\n"


def _methods(results: Results) -> str:
    rows = ["## Method", "", *(f"- **{figure.title}** (`{figure.name}`): {figure.method}." for figure in FIGURES)]
    if problems := troubles(results):
        rows += ["", "Could not be measured:", "", *(f"- {line}" for line in problems)]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the page, or with ``--check`` say whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m bench.render", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page does not match the JSON")
    parser.add_argument("--input", type=Path, default=FILE)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    if not options.input.exists():
        sys.exit(f"{options.input} does not exist: run `make bench` first")
    text = page(Results.load(options.input))
    if options.check:
        sys.exit(
            0
            if options.output.exists() and options.output.read_text(encoding="utf-8") == text
            else f"{options.output} is out of date"
        )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(f"written: {options.output}")


if __name__ == "__main__":
    main()
