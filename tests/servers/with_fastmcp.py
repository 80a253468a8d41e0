"""A FastMCP server whose tools return lists and scalars: its structured content is wrapped into an object."""

from fastmcp import FastMCP
from pydantic import BaseModel

server = FastMCP("lists")


class Row(BaseModel):
    """One row."""

    name: str
    total: float


@server.tool
def rows(count: int) -> list[Row]:
    """Rows."""
    return [Row(name=f"row {number}", total=number / 2) for number in range(count)]


@server.tool
def total(numbers: list[int]) -> int:
    """The sum of numbers."""
    return sum(numbers)


@server.tool
def summary() -> dict[str, int]:
    """An object, which needs no wrapping."""
    return {"result": 7}


server.run(show_banner=False)
