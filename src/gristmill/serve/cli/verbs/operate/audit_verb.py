"""``gristmill audit``: what happened, and whether the record of it is whole. It only looks."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.runtime.open.open_records import Audit

app = typer.Typer(no_args_is_help=True, help="What happened: every execution, call and refusal, in a chain that shows changes.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Kind = Literal["execution", "call", "search", "security", "approval"]
T = TypeVar("T")

EXIT_BROKEN = 1


@app.command("list")
def list_(
    kind: Annotated[Kind | None, typer.Option(help="Only records of this kind.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    caller: Annotated[str | None, typer.Option(help="Only this caller.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only this tool (`server.tool`) or all of a server.")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status.")] = None,
    days: Annotated[float | None, typer.Option(help="Only the last days.", min=0)] = None,
    limit: Annotated[int, typer.Option(help="How many to show.", min=1, max=10_000)] = 50,
    after: Annotated[int | None, typer.Option(help="Go on after the record of this number, with older ones.")] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show records, the newest first.

    Example: `gristmill audit list --kind security --days 7`
    """
    import time

    from gristmill.runtime.open.open_records import AuditFilter
    from gristmill.serve.cli.terminal.safe_output import print_json, stdout

    since = time.time() - days * 86_400 if days is not None else None
    wanted = AuditFilter(
        kind=kind, session=session, caller=caller, tenant=tenant, tool=tool, status=status, since=since
    )  # fmt: skip
    found = _ask(config, lambda audit: audit.list(wanted, limit=limit, after=after))
    if json:
        print_json([entry.fields() for entry in found])
    elif found:
        stdout().print(_table(found))


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="The id of an execution or of another record.")],  # noqa: A002
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show one execution: its code, how it ended, and each call inside it with its decision and arguments.

    Example: `gristmill audit show 0f8c...`
    """
    from gristmill.serve.cli.terminal.safe_output import print_json, stdout

    tree = _ask(config, lambda audit: audit.show(id))
    if json:
        print_json(tree.fields())
        return
    _print_fields(tree.entry.fields())
    if tree.children:
        stdout().print()
        stdout().print(_table([child.entry for child in tree.children]))


@app.command()
def verify(json: Json = False, config: ConfigFile = None) -> None:
    """Check every record, its place in the chain and the signatures; ends with 1 and the first bad record if one is wrong.

    Example: `gristmill audit verify`
    """
    from dataclasses import asdict

    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    found = _ask(config, lambda audit: audit.verify())
    if json:
        print_json(asdict(found))
    elif found.ok:
        stdout().print(f"[green]whole[/] {found.records:,} records")
    else:
        stdout().print(f"[red]broken[/] at record {found.first_bad}: {_plain(harmless(found.reason or ''))}")
    if not found.ok:
        raise typer.Exit(EXIT_BROKEN)


@app.command()
def export(
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default is standard output.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only records of this kind.")] = None,
    config: ConfigFile = None,
) -> None:
    """Write every record as a line of JSON, oldest first, with its number and hash.

    Example: `gristmill audit export --to audit.jsonl`
    """
    import os
    import sys

    from gristmill.runtime.open.open_records import AuditFilter

    async def write(audit: "Audit") -> None:
        # Only the owner may read it: it says what everybody did.
        opened = open(os.open(to, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") if to else sys.stdout  # noqa: ASYNC230, SIM115
        try:
            async for line in audit.export(AuditFilter(kind=kind)):
                opened.write(line + "\n")
        finally:
            if to:
                opened.close()

    _ask(config, write)


def _ask(config: Path | None, question: "Callable[[Audit], Awaitable[T]]") -> T:
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.runtime.open.open_records import open_records

    async def answer() -> T:
        async with open_records(load_config(config)) as audit:
            return await question(audit)

    return asyncio.run(answer())


def _table(entries: Any) -> Any:
    from datetime import UTC, datetime

    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless

    table = Table("seq", "time (UTC)", "kind", "id", "session", "tool", "decision", "status", "ms", box=None, pad_edge=False)
    for entry in entries:
        one = entry.record
        when = datetime.fromtimestamp(one.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        decision = " ".join(text for text in (one.decision, one.rule) if text)
        texts = (one.kind, one.id, one.session or "", one.tool or "", decision, one.status or "")
        ms = f"{one.ms:,.1f}" if one.ms is not None else ""
        table.add_row(str(entry.seq), when, *(_plain(harmless(text)) for text in texts), ms)
    return table


def _print_fields(fields: dict[str, Any]) -> None:
    import json

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        lines = harmless(text).splitlines() or [""]
        # Code keeps its lines, indented, so that none of them can pass for a field of ours.
        shown = lines[0] if len(lines) == 1 else "\n" + "\n".join(f"    {line}" for line in lines)
        stdout().print(f"[bold]{name}[/] {_plain(shown)}")


def _plain(text: str) -> str:
    """Text of a stranger is no markup."""
    from rich.markup import escape

    return escape(text)
