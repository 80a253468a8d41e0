"""``gristmill tokens``: who may come in by HTTP. A token is shown once, when it is made; only its digest is kept."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.serve.access_tokens import Token, Tokens

app = typer.Typer(no_args_is_help=True, help="Tokens for the HTTP service: make, list, revoke.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
T = TypeVar("T")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who it is for. Tokens of the same name and tenant share sessions and skills.")],
    tenant: Annotated[str, typer.Option(help="The tenant; tenants see nothing of each other.")] = "local",
    scope: Annotated[
        list[str], typer.Option(help="What it may do: execute, read, approve, admin; can be given several times.")
    ] = ["execute"],  # noqa: B006
    days: Annotated[float | None, typer.Option(help="Days after which it expires; default never.", min=0.0001)] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Make a token and print it, this once.

    Example: `gristmill tokens create ann --scope execute --scope read`
    """
    from gristmill.serve.cli.terminal.safe_output import print_json, stderr

    seconds = None if days is None else days * 86_400
    text, token = _ask(config, lambda tokens: tokens.create(name, tenant=tenant, scopes=scope, seconds=seconds))
    if json:
        print_json({"token": text, **_fields(token)})
        return
    typer.echo(text)
    stderr().print(
        f"id {token.id}, for {token.caller} of tenant {token.tenant}: {', '.join(token.scopes)}; it is not shown again"
    )


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None, json: Json = False, config: ConfigFile = None
) -> None:
    """Show every token but the secret itself.

    Example: `gristmill tokens list`
    """
    import time

    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import print_json, stdout

    found = _ask(config, lambda tokens: tokens.list(tenant))
    if json:
        print_json([_fields(token) for token in found])
        return
    table = Table("id", "name", "tenant", "scopes", "created (UTC)", "state", box=None, pad_edge=False)
    for token in found:
        state = "good" if token.is_good(time.time()) else "revoked" if token.revoked else "expired"
        table.add_row(token.id, token.caller, token.tenant, " ".join(token.scopes), _when(token.created), state)
    stdout().print(table)


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The id, as `gristmill tokens list` shows it.")],  # noqa: A002
    config: ConfigFile = None,
) -> None:
    """Let a token open nothing any more; a running service knows within a second.

    Example: `gristmill tokens revoke 3f9a0c51d2e7`
    """
    from gristmill.serve.cli.terminal.safe_output import stderr

    token = _ask(config, lambda tokens: tokens.revoke(id))
    stderr().print(f"token {token.id} of {token.caller} is revoked")


def _ask(config: Path | None, question: "Callable[[Tokens], Awaitable[T]]") -> T:
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.runtime.open.open_records import open_config_store
    from gristmill.serve.access_tokens import TABLES, Tokens

    async def answer() -> T:
        async with open_config_store(load_config(config), TABLES) as store:
            return await question(Tokens(store))

    return asyncio.run(answer())


def _fields(token: "Token") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(token), "scopes": list(token.scopes)}


def _when(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
