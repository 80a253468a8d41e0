"""``gristmill tokens``: creates, lists and revokes tokens of the HTTP service. A token is shown once; its digest is stored."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from gristmill.config.tree import Config
from gristmill.model import LOCAL
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import TokenRecord, TokenRegister
from gristmill.serve.cli.terminal.print_tables import Column, format_time, print_table
from gristmill.serve.cli.terminal.safe_output import print_json, stderr
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke tokens for the HTTP service.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who uses it. Tokens with the same name and tenant share sessions and skills.")],
    tenant: Annotated[str, typer.Option(help="The tenant; tenants cannot see each other's data.")] = LOCAL,
    scope: Annotated[
        list[str], typer.Option(help="What it may do: execute, read, approve or admin; give the option once for each.")
    ] = ["execute"],  # noqa: B006
    days: Annotated[float | None, typer.Option(help="Days until it expires; default is never.", min=0.0001)] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Create a token and print it. It cannot be shown again.

    Example: `gristmill tokens create ann --scope execute --scope read`
    """
    seconds = None if days is None else days * 86_400
    text, token = use_opened(
        open_tokens, config, lambda tokens: tokens.create(name, tenant=tenant, scopes=scope, seconds=seconds)
    )
    if json:
        print_json({"token": text, **_token_to_json(token)})
        return
    typer.echo(text)
    stderr().print(
        f"id {token.id}, for {token.caller} of tenant {token.tenant}: {', '.join(token.scopes)}; it is not shown again"
    )


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None, json: Json = False, config: ConfigFile = None
) -> None:
    """List all tokens, without their secrets.

    Example: `gristmill tokens list`
    """
    found = use_opened(open_tokens, config, lambda tokens: tokens.list(tenant))
    if json:
        print_json([_token_to_json(token) for token in found])
        return
    columns = (
        Column(title="id", kind="id"), "name", "tenant", "scopes", Column(title="created (UTC)", kind="fixed", leave=1),
        Column(title="state", kind="fixed"),
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for token in found:
        state = "good" if token.is_valid(time.time()) else "revoked" if token.revoked else "expired"
        rows.append((token.id, token.caller, token.tenant, " ".join(token.scopes), format_time(token.created), state))
    print_table(columns, rows)


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The id, as `gristmill tokens list` shows it.")],  # noqa: A002
    config: ConfigFile = None,
) -> None:
    """Revoke a token. A running service refuses it within a second.

    Example: `gristmill tokens revoke 3f9a0c51d2e7`
    """
    token = use_opened(open_tokens, config, lambda tokens: tokens.revoke(id))
    stderr().print(f"token {token.id} of {token.caller} is revoked")


@asynccontextmanager
async def open_tokens(config: Config) -> AsyncGenerator[TokenRegister]:
    """Opens the register of tokens."""
    async with open_config_store(config) as store:
        yield TokenRegister(store)


def _token_to_json(token: TokenRecord) -> dict[str, Any]:
    return {**to_builtins(token), "scopes": list(token.scopes)}
