"""`gristmill stats`: what was spent in tokens, what other ways would have cost, and what would be better."""

from typing import TYPE_CHECKING, Annotated

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.runtime.recording.read_stats import Stats


def stats(
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    execution: Annotated[str | None, typer.Option(help="Only this execution, whenever it was.", metavar="ID")] = None,
    days: Annotated[float, typer.Option(help="How far to look back.")] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show what executions cost in tokens against direct calls and against search then call, and what is advised.

    With `--execution` it is the account of that execution alone, with the searches that its caller made for it: those since
    the execution before.

    Example: `gristmill stats --days 7`
    """
    import asyncio
    import time
    from dataclasses import asdict

    from gristmill.config.tree import load_config
    from gristmill.runtime.recording.read_stats import open_spent, read_stats
    from gristmill.serve.cli.terminal.safe_output import print_json

    async def read() -> "Stats":
        async with open_spent(load_config(config)) as spent:
            since = time.time() - days * 86_400
            return await read_stats(spent, tenant="local", session=session, since=since, execution=execution)

    found = asyncio.run(read())
    if json:
        print_json(asdict(found))
    else:
        _show(found)


def _show(found: "Stats") -> None:
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    if not found.executions:
        stdout().print("Nothing was executed yet, so nothing was counted.")
        return
    table = Table(
        title=f"{found.executions} executions, {found.calls} tool calls, {found.searches} searches", title_justify="left"
    )
    for name in ("way", "requests", "input tokens", "counted once", "code saves"):
        table.add_column(name, justify="left" if name == "way" else "right")
    ways = found.savings.ways
    rows = (
        ("direct calls", ways.direct, f"{found.savings.against_direct.resent_percent} %"),
        ("search, then call", ways.search, f"{found.savings.against_search.resent_percent} %"),
        ("code", ways.code, ""),
    )
    for name, way, saved in rows:
        table.add_row(name, f"{way.requests:,}", f"{way.resent:,}", f"{way.once:,}", saved)
    stdout().print(table)
    stdout().print(harmless(found.summary))
    for advice in found.advice:
        stdout().print(f"- {harmless(advice.text)}")
    stdout().print(f"[dim]{found.method}[/]")
