"""``gristmill sessions``: lists sessions, reads and writes their files, and deletes them."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from gristmill.config.tree import load_config
from gristmill.errors import Refused
from gristmill.model import LOCAL, Identity
from gristmill.runtime.open.mask_offline import mask_session_file
from gristmill.runtime.open.session_stores import SessionRecord, SessionStores, open_session_stores, read_whole_file
from gristmill.serve.cli.terminal.print_tables import Column, format_time, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json, Tenant

app = typer.Typer(help="List sessions, read and write their files, delete them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The session's name.")]
FilePath = Annotated[str, typer.Argument(help="The file's path in the workspace, as `sessions files` shows it.")]


@app.command("list")
def list_(tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None) -> None:
    """List the sessions, the most recently used first. Example: `gristmill sessions list`"""

    async def load_rows(stores: SessionStores) -> list[dict[str, Any]]:
        found = await stores.sessions.list(identity=Identity(tenant=tenant), whole_tenant=True)
        return [{**each.fields(), "bytes": stores.measure_workspace(each.key)} for each in found]

    found = use_opened(open_session_stores, config, load_rows)
    if json:
        print_json(found)
        return
    columns = (
        Column(title="session", kind="id"), Column(title="caller", leave=2), Column(title="last used (UTC)", kind="fixed"),
        Column(title="expires (UTC)", kind="fixed", leave=1), Column(title="bytes", kind="number"),
    )  # fmt: skip
    print_table(
        columns, [(r["name"], r["caller"], format_time(r["used"]), format_time(r["expires"]), f"{r['bytes']:,}") for r in found]
    )


@app.command()
def show(name: Name, tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None) -> None:
    """Show one session: its handle, owner, times, size and the keys of its stored values."""

    async def load_session(stores: SessionStores) -> dict[str, Any]:
        session = await _find_session(stores, name, tenant)
        keys = list(await stores.values.keys(session.handle))
        return {**session.fields(), "bytes": stores.measure_workspace(session.key), "keys": keys}

    found = use_opened(open_session_stores, config, load_session)
    if json:
        print_json(found)
        return
    for field, value in found.items():
        shown = (
            format_time(value) if field in ("created", "used", "expires") else ", ".join(value) if field == "keys" else str(value)
        )
        stdout().print(f"{field:8} {neutralize_text(shown)}")


@app.command()
def files(
    name: Name,
    after: Annotated[str, typer.Option(help="Continue after this path.")] = "",
    limit: Annotated[int, typer.Option(help="How many files to show.", min=1)] = 1_000,
    tenant: Tenant = LOCAL,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """List the files of a session. Misleading characters in names are escaped; links and pipes have the kind `other`."""

    async def list_files(stores: SessionStores) -> Any:
        return stores.files(await _find_session(stores, name, tenant)).list(after=after, limit=limit)

    listing = use_opened(open_session_stores, config, list_files)
    if json:
        print_json(to_builtins(listing))
        return
    rows = [(each.path, each.kind, f"{each.size:,}", format_time(each.changed), each.mime) for each in listing.entries]
    columns = (
        Column(title="path"), Column(title="kind", kind="fixed", leave=2), Column(title="bytes", kind="number"),
        Column(title="changed (UTC)", kind="fixed", leave=1), Column(title="type", leave=3),
    )  # fmt: skip
    print_table(columns, rows)
    if listing.next:
        stderr().print(f"there are more files: add --after {listing.next!r}")


@app.command()
def get(
    name: Name,
    path: FilePath,
    to: Annotated[Path | None, typer.Argument(help="Where to write it; default is standard output.")] = None,
    real: Annotated[bool, typer.Option("--real", help="With real values: by default personal data is masked.")] = False,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Copy a file out of a session. Example: `gristmill sessions get ann out/rows.csv rows.csv`"""

    async def read(stores: SessionStores) -> bytes:
        session = await _find_session(stores, name, tenant)
        body = read_whole_file(stores.files(session), path)
        return body if real else mask_session_file(load_config(config), session, path, body)

    body = use_opened(open_session_stores, config, read)
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
    path: Annotated[str | None, typer.Argument(help="Its path in the workspace; default is its own name.")] = None,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Copy a file into a session; creates the session if needed. Example: `gristmill sessions put ann rows.csv`"""

    async def write(stores: SessionStores) -> Any:
        session = await stores.sessions.open(name, identity=Identity(tenant=tenant))
        try:
            with source.open("rb") as file:
                return stores.files(session).write(path or source.name, iter(lambda: file.read(1 << 20), b""))
        except OSError as error:
            raise Refused(f"{source} cannot be read: {error.strerror}", rule="file.system") from None

    use_opened(open_session_stores, config, write)


@app.command()
def delete(
    name: Name,
    path: Annotated[str | None, typer.Argument(help="Delete only this file or folder of the session.")] = None,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Delete a session with its files, values and skills, or only one file of it."""

    async def remove(stores: SessionStores) -> None:
        session = await _find_session(stores, name, tenant)
        if path is None:
            await stores.sessions.delete(session)
        else:
            stores.files(session).delete(path)

    use_opened(open_session_stores, config, remove)


@app.command()
def prune(json: Json = False, config: ConfigFile = None) -> None:
    """Delete sessions unused for `sessions.days`, and the least recently used beyond `sessions.total_mb`; prints their names."""
    deleted = use_opened(open_session_stores, config, lambda stores: stores.prune())
    if json:
        print_json([each.fields() for each in deleted])
        return
    for each in deleted:
        stdout().print(neutralize_text(each.name))


async def _find_session(stores: SessionStores, name: str, tenant: str) -> SessionRecord:
    """Returns the session with that name, whichever caller of the tenant it belongs to."""
    return await stores.sessions.find_by_name(name, identity=Identity(tenant=tenant), whole_tenant=True)
