"""Prints rows under headings, and formats times for people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Table

from gristmill.serve.cli.terminal.safe_output import neutralize_text, stdout


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows under headings. Cells may hold text from models and servers, so control characters are escaped."""
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(neutralize_text(cell) for cell in row))
    if rows:
        stdout().print(table)


def format_time(seconds: float) -> str:
    """Formats a Unix time for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
