"""The last catalogue of each server on disk, so that a start does not wait for servers. The path is passed in.

A file is only believed for the configuration it was made with, and only if its tools still hash to what it says.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from gristmill.config.sections.base import Section
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.model import Tool

_FORMAT = 1
_NOT_OFFERED = {"enabled", "connect", "health_seconds"}
"""Settings that do not change what a server offers."""


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What was known about a server when it was last listed."""

    era: Literal["legacy", "modern"] | None = None
    tools: tuple[Tool, ...] = ()


class _File(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    config: str
    definitions: str
    era: Literal["legacy", "modern"] | None
    tools: list[dict[str, Any]]


def config_hash(config: ServerConfig) -> str:
    """A digest of everything that decides what a server offers; references stand in it, not secrets."""
    told = {name: value for name, value in config if name not in _NOT_OFFERED}
    return _digest(told)


def definitions_hash(tools: tuple[Tool, ...]) -> str:
    """A digest of the definitions, the same for the same tools in the same order."""
    return _digest([_plain(tool) for tool in tools])


def load(folder: Path, server: str, config: ServerConfig) -> Remembered:
    """What is remembered about ``server``; empty when there is nothing, or nothing that can be believed."""
    try:
        found = msgspec.json.decode(_path(folder, server).read_bytes(), type=_File)
        tools = tuple(Tool(server=server, **tool) for tool in found.tools)
    except (OSError, msgspec.MsgspecError, TypeError, RecursionError):
        return Remembered()
    believed = found.format == _FORMAT and found.config == config_hash(config)
    if not believed or found.definitions != definitions_hash(tools):
        return Remembered()
    return Remembered(era=found.era, tools=tools)


def save(folder: Path, server: str, config: ServerConfig, remembered: Remembered) -> None:
    """Write what is known, at once or not at all; only its owner may read it. What is there already is left as it is."""
    content = _File(
        format=_FORMAT,
        config=config_hash(config),
        definitions=definitions_hash(remembered.tools),
        era=remembered.era,
        tools=[_plain(tool) for tool in remembered.tools],
    )
    encoded = msgspec.json.encode(content)
    with contextlib.suppress(OSError):
        if _path(folder, server).read_bytes() == encoded:
            return  # a file that is not touched is known to be the same
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{server}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encoded)
        Path(name).replace(_path(folder, server))
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _path(folder: Path, server: str) -> Path:
    return folder / f"{server}.json"


def _plain(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        "output_schema": dict(tool.output_schema) if tool.output_schema is not None else None,
        "annotations": dict(tool.annotations),
    }


def _digest(value: Mapping[str, Any] | list[Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted", enc_hook=_as_json)).hexdigest()


def _as_json(value: Any) -> Any:
    """What a configuration holds besides JSON. By hand: dumping it would build a serializer first, at every start."""
    if isinstance(value, Section):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError
