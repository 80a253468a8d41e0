"""One entry of a TOML file is set or removed; comments and order stay."""

from typing import Any, cast

import tomlkit
from tomlkit.items import Table


def get(text: str, path: tuple[str, ...]) -> Any:
    """The value at ``path``, nothing when there is none."""
    value: Any = tomlkit.parse(text).unwrap()
    for key in path:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def put(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """``text`` with the table ``value`` at ``path``."""
    document: Any = tomlkit.parse(text)
    holder = document
    for key in path[:-1]:
        if key not in holder:
            holder[key] = tomlkit.table(is_super_table=True)
        holder = holder[key]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(holder, dict):
            raise ValueError(f"{key} is not a table")
    table = tomlkit.item(value)
    if path[0] in text and isinstance(table, Table):
        table.add(tomlkit.nl())  # what comes after it keeps its distance
    holder[path[-1]] = table
    return tomlkit.dumps(document)


def remove(text: str, path: tuple[str, ...]) -> str:
    """``text`` without the table at ``path``; unchanged when there is none."""
    if get(text, path) is None:
        return text
    document: Any = tomlkit.parse(text)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    if len(path) > 1 and not holder and f"[{path[0]}]" not in text:
        del document[path[0]]  # it was there for ours alone
    return tomlkit.dumps(document)
