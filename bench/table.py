"""The one table: figures down, candidates across, each peer with the ratio of ours to it."""

from rich import box
from rich.console import Console
from rich.table import Table

from bench.figures import FIGURES, Figure
from bench.results import Results, show, show_ratio

NARROWEST = 205


def print_table(results: Results) -> None:
    """To standard output, as wide as it needs to be."""
    console = Console()
    if console.width < NARROWEST:
        console = Console(width=NARROWEST)
    table = Table(
        title=f"commit {results.document['commit']}, {results.document['date']}", caption=caption(results), box=box.SIMPLE_HEAD
    )
    for heading in ("figure", "unit", "bar", "gristmill", "p95", ""):
        table.add_column(heading, justify="left" if heading in ("figure", "unit", "") else "right", no_wrap=True)
    for peer in results.peers():
        table.add_column(peer, justify="right", no_wrap=True)
    for figure in FIGURES:
        if any(results.found(figure.name, who) for who in results.document["peers"]):
            table.add_row(*_row(results, figure))
    console.print(table)
    for line in troubles(results):
        console.print(line, markup=False)


def caption(results: Results) -> str:
    """Where, and how to read it."""
    machine = results.document["machine"]
    quick = "QUICK RUN, not to be quoted. " if results.document["quick"] else ""
    return (
        f"{quick}{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, Python {machine['python']}, load before "
        f"{machine['load_before']}. Medians; xN is ours divided by theirs (less is faster, for rates more is)."
    )


def troubles(results: Results) -> list[str]:
    """What could not be measured, and why."""
    lines = [f"{name}: not measured: {peer['error']}" for name, peer in results.document["peers"].items() if peer.get("error")]
    for name, figure in results.document["figures"].items():
        lines += [f"{who}, {name}: {found['error']}" for who, found in figure["values"].items() if found.get("error")]
    return lines


def _row(results: Results, figure: Figure) -> list[str]:
    verdict = results.verdict(figure)
    styled = {"met": "[green]met[/]", "missed": "[red]missed[/]"}.get(verdict, verdict)
    p95 = results.found(figure.name).get("p95")
    row = [figure.title, figure.unit, bar(figure), show(results.value(figure.name), figure.unit), show(p95, figure.unit), styled]
    return [*row, *(cell(results, figure, peer) for peer in results.peers())]


def bar(figure: Figure) -> str:
    """``<= 0.80``."""
    return "" if figure.bar is None else f"{'>=' if figure.more_is_better else '<='} {show(figure.bar, figure.unit)}"


def cell(results: Results, figure: Figure, peer: str) -> str:
    """A peer's value and the ratio of ours to it."""
    found = results.found(figure.name, peer)
    if "error" in found:
        return "failed"
    if not found:
        return ""
    ratio = results.ratio(figure.name, peer)
    return show(found["p50"], figure.unit) + (f"  {show_ratio(ratio)}" if ratio is not None else "")
