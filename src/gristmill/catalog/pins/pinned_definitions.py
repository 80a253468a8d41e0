"""Pins tool definitions when they are first seen. A later change is shown as a diff and held back until it is accepted.

Everything here works on values; only `save_pins` and `load_pins` use a file.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.atomic_file import write_atomically
from gristmill.catalog.catalog import Catalog, definition_to_json
from gristmill.catalog.visible_text import clean_to_one_line
from gristmill.errors import ConfigError
from gristmill.loose_json import as_mapping
from gristmill.model import Json

FORMAT = 1
MAX_EDITS = 50


class Pin(Struct, frozen=True, kw_only=True):
    """A definition as it was accepted, and its hash."""

    hash: str
    definition: Mapping[str, Json]


class Pins(Struct, frozen=True, kw_only=True):
    """All pinned definitions by tool key. A tool that disappears keeps its pin, so that it cannot return as another tool."""

    pins: Mapping[str, Pin] = field(default_factory=dict[str, Pin])


class DefinitionEdit(Struct, frozen=True, kw_only=True):
    """One place where two definitions differ; a side that lacks the place is None."""

    place: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        lines = [f"  {self.place}"]
        lines += [f"  - {self.old}"] if self.old is not None else []
        lines += [f"  + {self.new}"] if self.new is not None else []
        return "\n".join(lines)


class DefinitionChange(Struct, frozen=True, kw_only=True):
    """A tool whose definition differs from the one that was accepted."""

    key: str
    pinned: str
    seen: str
    edits: tuple[DefinitionEdit, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.key} changed:", *map(str, self.edits)])


def pin_new_tools(pins: Pins, catalog: Catalog) -> Pins:
    """Returns ``pins`` with pins added for the tools of ``catalog`` that were never seen before."""
    return _pin_tools(pins, catalog, [key for key in catalog.tools if key not in pins.pins])


def find_changes(pins: Pins, catalog: Catalog) -> tuple[DefinitionChange, ...]:
    """Returns the tools whose definition differs from their pin, with the differences."""
    found: list[DefinitionChange] = []
    for key, seen in catalog.hashes.items():
        pin = pins.pins.get(key)
        if pin is not None and pin.hash != seen:
            edits = tuple(_list_edits(pin.definition, definition_to_json(catalog.tools[key])))
            found.append(DefinitionChange(key=key, pinned=pin.hash, seen=seen, edits=edits))
    return tuple(found)


def accept_changes(pins: Pins, catalog: Catalog, accepted: Mapping[str, str]) -> Pins:
    """Pins changed tools again. ``accepted`` maps each key to the hash that was reviewed: a newer change is not accepted."""
    return _pin_tools(pins, catalog, [key for key, seen in accepted.items() if catalog.hashes.get(key) == seen])


def remove_changed_tools(pins: Pins, catalog: Catalog) -> Catalog:
    """Returns ``catalog`` without the tools whose changes wait to be accepted."""
    held = {change.key for change in find_changes(pins, catalog)}
    return Catalog.from_tools(tool for tool in catalog if tool.key not in held) if held else catalog


def pins_to_json(pins: Pins) -> dict[str, Json]:
    """Returns ``pins`` as JSON."""
    entries = {key: {"hash": pin.hash, "definition": dict(pin.definition)} for key, pin in pins.pins.items()}
    return {"version": FORMAT, "pins": entries}


def pins_from_json(value: Json) -> Pins:
    """Reverses `pins_to_json`.

    Raises:
        ConfigError: the value is not a record of pins.
    """
    entries, number = as_mapping(value).get("pins"), as_mapping(value).get("version")
    if isinstance(number, int) and number > FORMAT:
        raise ConfigError(f"its format is {number}, and this version of Gristmill reads {FORMAT}: use the version that wrote it")
    if number != FORMAT or not isinstance(entries, dict):
        raise ConfigError("it is damaged; restore it")
    return Pins(pins={key: _pin_from_json(key, entry) for key, entry in as_mapping(cast("Json", entries)).items()})


def save_pins(pins: Pins, path: Path) -> None:
    """Writes ``pins`` to ``path``, completely or not at all."""
    write_atomically(path, [json.dumps(pins_to_json(pins)).encode("ascii")], sync=True)


def load_pins(path: Path) -> Pins:
    """Returns the pins stored in ``path``; none if there is no such file.

    Raises:
        ConfigError: the file is damaged, or of a newer version. It is not replaced: starting afresh would accept everything that
            servers say now.
    """
    try:
        return pins_from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Pins()
    except (OSError, ValueError, ConfigError) as error:
        reason = error.message if isinstance(error, ConfigError) else "it is damaged; restore it"
        raise ConfigError(f"{path} cannot be used: {reason}, or remove it to pin every definition anew") from None


def _pin_tools(pins: Pins, catalog: Catalog, keys: Collection[str]) -> Pins:
    fresh = {key: Pin(hash=catalog.hashes[key], definition=definition_to_json(catalog.tools[key])) for key in keys}
    return replace(pins, pins={**pins.pins, **fresh})


def _pin_from_json(key: str, entry: Json) -> Pin:
    found = as_mapping(entry)
    if not isinstance(found.get("hash"), str) or not isinstance(found.get("definition"), dict):
        raise ConfigError(f"the pin of {key!r} is damaged; restore it")
    return Pin(hash=found["hash"], definition=as_mapping(found["definition"]))


def _list_edits(old: Json, new: Json) -> list[DefinitionEdit]:
    """Returns the leaves that differ, in order, at most `MAX_EDITS`; says so if only the order of parameters differs."""
    found: list[DefinitionEdit] = []
    for edit in _find_differences(old, new, ""):
        if len(found) == MAX_EDITS:
            return [*found, DefinitionEdit(place="…", old=None, new="more differences, not shown")]
        found.append(edit)
    return found or [
        DefinitionEdit(place="input_schema.properties", old=_show_parameter_order(old), new=_show_parameter_order(new))
    ]


def _find_differences(old: Json, new: Json, place: str) -> Iterator[DefinitionEdit]:
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = as_mapping(cast("Json", old)), as_mapping(cast("Json", new))
        for key in dict.fromkeys([*before, *after]):
            inner = f"{place}.{key}" if place else key
            if key not in after or key not in before:
                yield DefinitionEdit(place=clean_to_one_line(inner), old=_show_entry(before, key), new=_show_entry(after, key))
            else:
                yield from _find_differences(before[key], after[key], inner)
    elif old != new or type(cast("object", old)) is not type(cast("object", new)):
        yield DefinitionEdit(place=clean_to_one_line(place), old=_show_value(old), new=_show_value(new))


def _show_entry(entries: Mapping[str, Json], key: str) -> str | None:
    return _show_value(entries[key]) if key in entries else None


def _show_value(value: Json) -> str:
    # ASCII escapes: the diff must make a hidden character visible, because it may be the change.
    text = json.dumps(value)
    return text if len(text) <= 2_000 else text[:1_999] + "…"


def _show_parameter_order(value: Json) -> str:
    return "order: " + ", ".join(
        map(clean_to_one_line, as_mapping(as_mapping(as_mapping(value).get("input_schema")).get("properties")))
    )
