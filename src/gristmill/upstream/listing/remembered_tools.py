"""Keeps the last tool listing of each server on disk, so that a start does not wait for servers. The path is passed in.

A file is used only for the configuration it was written with, and only if its tools still match its own hash. Its name holds both
the server's name and a hash of its settings: two projects may give one name to different servers.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from gristmill.atomic_file import write_atomically
from gristmill.config.sections.base import Section
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.model import Tool

_FORMAT = 1
_DIGEST_CHARS = 12
_MOST_FILES = 8
"""Most files for one server's name."""
_IRRELEVANT_SETTINGS = {"enabled", "connect", "health_seconds"}
"""Settings that do not change which tools a server offers."""


class RememberedTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools and the protocol era of a server when it was last listed."""

    era: Literal["legacy", "modern"] | None = None
    tools: tuple[Tool, ...] = ()


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one file on disk."""

    format: int
    config: str
    definitions: str
    era: Literal["legacy", "modern"] | None
    tools: list[dict[str, Any]]


def hash_config(config: ServerConfig) -> str:
    """Returns a digest of all settings that decide what a server offers; it covers secret references, never secrets."""
    settings = {name: value for name, value in config if name not in _IRRELEVANT_SETTINGS}
    return hash_settings(settings)


def hash_definitions(tools: tuple[Tool, ...]) -> str:
    """Returns a digest of the definitions: the same for the same tools in the same order."""
    return hash_settings([_tool_to_json(tool) for tool in tools])


def load_remembered_tools(folder: Path, server: str, config: ServerConfig) -> RememberedTools:
    """Returns what is remembered about ``server``; empty when there is no file, or its hashes do not match."""
    try:
        found = msgspec.json.decode(_name_file(folder, server, config).read_bytes(), type=_File)
        tools = tuple(Tool(server=server, **tool) for tool in found.tools)
    except (OSError, msgspec.MsgspecError, TypeError, RecursionError):
        return RememberedTools()
    is_current = found.format == _FORMAT and found.config == hash_config(config)
    if not is_current or found.definitions != hash_definitions(tools):
        return RememberedTools()
    return RememberedTools(era=found.era, tools=tools)


def save_remembered_tools(folder: Path, server: str, config: ServerConfig, remembered: RememberedTools) -> None:
    """Writes the tools atomically, readable by the owner only. A file with the same content is not rewritten."""
    content = _File(
        format=_FORMAT,
        config=hash_config(config),
        definitions=hash_definitions(remembered.tools),
        era=remembered.era,
        tools=[_tool_to_json(tool) for tool in remembered.tools],
    )
    encoded, file = msgspec.json.encode(content), _name_file(folder, server, config)
    with contextlib.suppress(OSError):
        if file.read_bytes() == encoded:
            return  # unchanged: its time of change stays, which tells readers that nothing changed
    write_atomically(file, [encoded])
    _remove_old_files(folder, server)


def _name_file(folder: Path, server: str, config: ServerConfig) -> Path:
    return folder / f"{server}~{hash_config(config)[:_DIGEST_CHARS]}.json"  # no name of a server contains a ~


def _remove_old_files(folder: Path, server: str) -> None:
    """Keeps the newest files of a server; ``{server}.json`` was written by earlier versions."""
    with contextlib.suppress(OSError):
        (folder / f"{server}.json").unlink(missing_ok=True)
        files = sorted(folder.glob(f"{server}~*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_MOST_FILES]:
            path.unlink(missing_ok=True)


def _tool_to_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        "output_schema": dict(tool.output_schema) if tool.output_schema is not None else None,
        "annotations": dict(tool.annotations),
    }


def hash_settings(value: Mapping[str, Any] | list[Any]) -> str:
    """Returns a digest of settings or definitions, whatever the order of their keys."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted", enc_hook=_encode_setting)).hexdigest()


def _encode_setting(value: Any) -> Any:
    """Converts the values in a configuration that are not JSON. By hand: pydantic would build a serializer at every start."""
    if isinstance(value, Section):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError
