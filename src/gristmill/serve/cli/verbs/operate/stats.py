"""`gristmill stats`: prints the tokens that executions cost, what other ways would have cost, and recommendations."""

import time
from typing import Annotated

import typer
from msgspec import to_builtins

from gristmill.model import LOCAL
from gristmill.runtime.recording.read_stats import Stats, open_spent_tokens, read_stats
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stdout
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json

MOST_OF_A_KIND = 3
"""How many recommendations of one kind are printed."""
_KINDS = {
    "expose": "tools that are mostly called alone",
    "unused_server": "servers whose tools were never called",
    "missed_search": "searches that led to no call",
}


def stats(
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    execution: Annotated[str | None, typer.Option(help="Only this execution, of any age.", metavar="ID")] = None,
    conversation: Annotated[str | None, typer.Option(help="Only this conversation.", metavar="NAME")] = None,
    days: Annotated[float, typer.Option(help="Days to look back.")] = 30.0,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show the tokens that executions cost, compared with direct calls and with search then call, and recommendations.

    Money is counted at `records.token_price` dollars per million input tokens.

    Example: `gristmill stats --days 7`
    """

    since = time.time() - days * 86_400
    found = use_opened(
        open_spent_tokens,
        config,
        lambda opened: read_stats(
            opened.accounts,
            tenant=LOCAL,
            session=session,
            since=since,
            execution=execution,
            conversation=conversation,
            price=opened.price,
        ),
    )
    if json:
        print_json(to_builtins(found))
    else:
        _print_stats(found)


def _print_stats(found: Stats) -> None:
    if not found.executions:
        stdout().print("No executions were found, so there is nothing to count.")
        return
    stdout().print(
        f"{found.executions} executions, {found.calls} tool calls, {found.searches} searches; {found.tokens_saved:,} tokens saved"
    )
    ways = found.savings.ways
    plain, cached = found.costs.plain, found.costs.cached
    rows = (
        ("direct calls", ways.direct, f"{found.savings.against_direct.resent_percent} %", plain.direct, cached.direct),
        ("search, then call", ways.search, f"{found.savings.against_search.resent_percent} %", plain.search, cached.search),
        ("code", ways.code, "", plain.code, cached.code),
    )
    print_table(
        (
            Column(title="way", kind="fixed"), *(Column(title=title, kind="number") for title in ("requests", "input tokens")),
            Column(title="counted once", kind="number", leave=1), Column(title="code saves", kind="number"),
            Column(title="cost", kind="number"), Column(title="with caching", kind="number", leave=2),
        ),
        [
            (name, f"{way.requests:,}", f"{way.resent:,}", f"{way.once:,}", saved, f"${cost:,.4f}", f"${with_caching:,.4f}")
            for name, way, saved, cost, with_caching in rows
        ],
    )  # fmt: skip
    stdout().print(neutralize_text(found.summary))
    for line in fold_advice(found):
        stdout().print(f"- {neutralize_text(line)}")
    stdout().print(found.method, style="dim")


def fold_advice(found: Stats) -> list[str]:
    """Returns a line for each recommendation, the same text once, and of many of one kind the first and how many there are."""
    lines: list[str] = []
    for kind in dict.fromkeys(advice.kind for advice in found.advice):
        texts = list(dict.fromkeys(advice.text for advice in found.advice if advice.kind == kind))
        lines += texts[:MOST_OF_A_KIND]
        if len(texts) > MOST_OF_A_KIND:
            lines.append(f"{len(texts) - MOST_OF_A_KIND} more {_KINDS[kind]}: --json lists all")
    return lines
