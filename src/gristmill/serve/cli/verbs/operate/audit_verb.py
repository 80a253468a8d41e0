"""``gristmill audit``: shows, exports and verifies the audit records. It changes nothing."""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import to_builtins

from gristmill.runtime.open.open_records import Audit, AuditFilter, open_records
from gristmill.serve.cli.terminal.print_tables import Column, find_width, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stdout, style_parts
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json

app = typer.Typer(no_args_is_help=True, help="Show, verify and export the record of every execution, call and refusal.")

RecordKind = Literal["execution", "call", "search", "security", "approval", "rollout"]

EXIT_BROKEN = 1


@app.command("list")
def list_(
    kind: Annotated[RecordKind | None, typer.Option(help="Only records of this kind.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    caller: Annotated[str | None, typer.Option(help="Only this caller.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    tool: Annotated[
        str | None, typer.Option(help="Only this tool (`server.tool`), or a server's name for all its tools.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="Only this status.")] = None,
    days: Annotated[float | None, typer.Option(help="Only records of the last N days.", min=0)] = None,
    limit: Annotated[int, typer.Option(help="How many to show.", min=1, max=10_000)] = 50,
    after: Annotated[int | None, typer.Option(help="Only records older than the one with this number (`seq`).")] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show records, newest first.

    Example: `gristmill audit list --kind security --days 7`
    """
    since = time.time() - days * 86_400 if days is not None else None
    wanted = AuditFilter(
        kind=kind, session=session, caller=caller, tenant=tenant, tool=tool, status=status, since=since
    )  # fmt: skip
    found = use_opened(open_records, config, lambda audit: audit.list(wanted, limit=limit, after=after))
    if json:
        print_json([entry.fields() for entry in found])
    elif found:
        _print_entries(found)


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="The id of an execution or of another record.")],  # noqa: A002
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show one execution: its code, how it ended, and each call inside it with its decision and arguments.

    Example: `gristmill audit show 0f8c...`
    """
    tree = use_opened(open_records, config, lambda audit: audit.show(id))
    if json:
        print_json(tree.fields())
        return
    _print_fields(tree.entry.fields())
    if tree.children:
        stdout().print()
        _print_entries([child.entry for child in tree.children])


@app.command()
def verify(
    days: Annotated[
        float | None, typer.Option(help="Only the records of the last N days, which is quick in a long history.", min=0)
    ] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Check every record, its place in the hash chain and the signatures. Exit code 1 and the first bad record if one is wrong.

    Example: `gristmill audit verify --days 2`
    """
    since = time.time() - days * 86_400 if days is not None else None
    found = use_opened(open_records, config, lambda audit: audit.verify(since=since))
    if json:
        print_json(to_builtins(found))
    elif found.ok:
        stdout().print(style_parts(("whole", "green"), f" {found.records:,} records"))
    else:
        stdout().print(style_parts(("broken", "red"), f" at record {found.first_bad}: {found.reason or ''}"))
    if not found.ok:
        raise typer.Exit(EXIT_BROKEN)


@app.command()
def export(
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default is standard output.")] = None,
    kind: Annotated[RecordKind | None, typer.Option(help="Only records of this kind.")] = None,
    config: ConfigFile = None,
) -> None:
    """Write every record as a line of JSON, oldest first, with its number and hash.

    Example: `gristmill audit export --to audit.jsonl`
    """

    async def write(audit: Audit) -> None:
        # Only the owner may read the file: it records what every user did.
        opened = open(os.open(to, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") if to else sys.stdout  # noqa: ASYNC230, SIM115
        try:
            async for line in audit.export(AuditFilter(kind=kind)):
                opened.write(line + "\n")
        finally:
            if to:
                opened.close()

    use_opened(open_records, config, write)


NARROW = 100
"""On a terminal with fewer columns times have no year."""
_COLUMNS = (
    Column(title="seq", kind="number"), Column(title="time (UTC)", kind="fixed"), Column(title="kind", kind="fixed"),
    Column(title="id", kind="id"), Column(title="caller"), Column(title="session", kind="id", leave=2),
    Column(title="tool"), Column(title="decision", leave=3), Column(title="status"),
    Column(title="ms", kind="number", leave=4),
)  # fmt: skip


def _print_entries(entries: Any) -> None:
    how = "%Y-%m-%d %H:%M:%S" if (find_width() or NARROW) >= NARROW else "%m-%d %H:%M:%S"
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        one = entry.record
        when = datetime.fromtimestamp(one.time, UTC).strftime(how)
        decision = " ".join(text for text in (one.decision, one.rule) if text)
        ms = f"{one.ms:,.1f}" if one.ms is not None else ""
        names = (one.id, one.caller or "", one.session or "", one.tool or "")
        rows.append((str(entry.seq), when, one.kind, *names, decision, one.status or "", ms))
    print_table(_COLUMNS, rows)


def _print_fields(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        lines = neutralize_text(text).splitlines() or [""]
        # Lines of code are indented, so that none of them can look like a field of ours.
        shown = lines[0] if len(lines) == 1 else "\n" + "\n".join(f"    {line}" for line in lines)
        stdout().print(style_parts((name, "bold"), f" {shown}"))
