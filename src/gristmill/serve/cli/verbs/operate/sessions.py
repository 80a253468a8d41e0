"""``gristmill sessions``: what sessions there are, their files, and their end."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gristmill.serve.cli.terminal.print_tables import LOCAL, Json, Tenant, day, print_table, with_keeping
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.runtime.open.session_stores import Keeping

app = typer.Typer(help="What sessions there are, their files, and their end.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The session's name.")]
FilePath = Annotated[str, typer.Argument(help="The file's path in the workspace, as `sessions files` shows it.")]


@app.command("list")
def list_(tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None) -> None:
    """Show the sessions, the one used last first. Example: `gristmill sessions list`"""
    from gristmill.serve.cli.terminal.safe_output import print_json

    async def rows(keeping: "Keeping") -> list[dict[str, Any]]:
        return [{**asdict(each), "bytes": keeping.size(each.key)} for each in await keeping.sessions.list(tenant)]

    found = with_keeping(config, rows)
    if json:
        print_json(found)
        return
    columns = ("session", "caller", "last used", "expires", "bytes")
    print_table(columns, [(r["name"], r["caller"], day(r["used"]), day(r["expires"]), f"{r['bytes']:,}") for r in found])


@app.command()
def show(name: Name, tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None) -> None:
    """Show one session: its handle, its owner, its times, its keys."""
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    async def look(keeping: "Keeping") -> dict[str, Any]:
        session = await keeping.sessions.named(name, tenant)
        keys = list(await keeping.values.keys(session.handle))
        return {**asdict(session), "bytes": keeping.size(session.key), "keys": keys}

    found = with_keeping(config, look)
    if json:
        print_json(found)
        return
    for field, value in found.items():
        shown = day(value) if field in ("created", "used", "expires") else ", ".join(value) if field == "keys" else str(value)
        stdout().print(f"{field:8} {harmless(shown)}", markup=False)


@app.command()
def files(
    name: Name,
    after: Annotated[str, typer.Option(help="Begin after this path.")] = "",
    limit: Annotated[int, typer.Option(help="How many to show.", min=1)] = 1_000,
    tenant: Tenant = LOCAL,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """List the files of a session's workspace. Names that could mislead are escaped; links and pipes are `other`."""
    from gristmill.serve.cli.terminal.safe_output import print_json, stderr

    async def look(keeping: "Keeping") -> Any:
        return keeping.files(await keeping.sessions.named(name, tenant)).list(after=after, limit=limit)

    listing = with_keeping(config, look)
    if json:
        print_json(asdict(listing))
        return
    rows = [(each.path, each.kind, f"{each.size:,}", day(each.changed), each.mime) for each in listing.entries]
    print_table(("path", "kind", "bytes", "changed", "type"), rows)
    if listing.next:
        stderr().print(f"there are more: --after {listing.next!r}", markup=False)


@app.command()
def get(
    name: Name,
    path: FilePath,
    to: Annotated[Path | None, typer.Argument(help="Where to put it; standard output if left out.")] = None,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Read a file of a session. Example: `gristmill sessions get ann out/rows.csv rows.csv`"""
    from gristmill.errors import Refused
    from gristmill.runtime.open.session_stores import whole_file

    async def read(keeping: "Keeping") -> bytes:
        return whole_file(keeping.files(await keeping.sessions.named(name, tenant)), path)

    body = with_keeping(config, read)
    if to is None:
        sys.stdout.buffer.write(body)
        return
    try:
        to.write_bytes(body)
    except OSError as error:
        raise Refused(f"{to} cannot be written: {error.strerror}", rule="file.system") from None


@app.command()
def put(
    name: Name,
    source: Annotated[Path, typer.Argument(help="The file to copy.")],
    path: Annotated[str | None, typer.Argument(help="Its path in the workspace; its own name if left out.")] = None,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Copy a file into a session, which begins if there is none of that name. Example: `gristmill sessions put ann rows.csv`"""
    from gristmill.errors import Refused

    async def write(keeping: "Keeping") -> Any:
        session = await keeping.sessions.open(name, tenant)
        try:
            with source.open("rb") as file:
                return keeping.files(session).write(path or source.name, iter(lambda: file.read(1 << 20), b""))
        except OSError as error:
            raise Refused(f"{source} cannot be read: {error.strerror}", rule="file.system") from None

    with_keeping(config, write)


@app.command()
def delete(
    name: Name,
    path: Annotated[str | None, typer.Argument(help="Only this file or folder of it.")] = None,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Delete a session with its files, values and skills, or one file of it."""

    async def remove(keeping: "Keeping") -> None:
        session = await keeping.sessions.named(name, tenant)
        if path is None:
            await keeping.sessions.delete(session)
        else:
            keeping.files(session).delete(path)

    with_keeping(config, remove)


@app.command()
def prune(json: Json = False, config: ConfigFile = None) -> None:
    """Delete the sessions that are too old ([sessions] days) or too much (total_mb); says which."""
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    gone = with_keeping(config, lambda keeping: keeping.prune())
    if json:
        print_json([asdict(each) for each in gone])
        return
    for each in gone:
        stdout().print(harmless(each.name), markup=False)
