"""What the verbs about sessions and skills share: opening what is kept, without a sandbox, and showing it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from gristmill.runtime.open.session_stores import Keeping

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Tenant = Annotated[str, typer.Option(help="The tenant whose it is; `local` where there is only one.")]
LOCAL = "local"

T = TypeVar("T")


def with_keeping(config: Path | None, work: "Callable[[Keeping], Awaitable[T]]") -> T:
    """The result of ``work`` on what is kept."""
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.runtime.open.session_stores import open_keeping

    async def opened() -> T:
        async with open_keeping(load_config(config)) as keeping:
            return await work(keeping)

    return asyncio.run(opened())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under headings. What is in them came from strangers: none of it is markup."""
    from rich.markup import escape
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(harmless(cell)) for cell in row))
    if rows:
        stdout().print(table)


def day(seconds: float) -> str:
    """A moment to read."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
