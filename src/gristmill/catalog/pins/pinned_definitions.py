"""Definitions pinned at first sight: what a server says later is compared, shown as a diff, held back until accepted.

Pure values; only `save_pins` and `load_pins` touch a file.
"""

import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import cast

from gristmill.catalog.catalog import Catalog, definition
from gristmill.catalog.types.schema_refs import mapping
from gristmill.catalog.visible_text import one_line
from gristmill.errors import ConfigError
from gristmill.model import Json
from gristmill.values import dataclass

MAX_EDITS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A definition as it was accepted, and its hash."""

    hash: str
    definition: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """Every pinned definition by key. A tool that disappears keeps its pin, so that it cannot come back as another."""

    pins: Mapping[str, Pin] = field(default_factory=dict[str, Pin])


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One place where two definitions differ; an absent side is None."""

    place: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        lines = [f"  {self.place}"]
        lines += [f"  - {self.old}"] if self.old is not None else []
        lines += [f"  + {self.new}"] if self.new is not None else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A tool whose definition is not the one that was accepted."""

    key: str
    pinned: str
    seen: str
    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.key} changed:", *map(str, self.edits)])


def pin_new(pins: Pins, catalog: Catalog) -> Pins:
    """``pins`` and those tools of ``catalog`` that were never seen before."""
    return _pin(pins, catalog, [key for key in catalog.tools if key not in pins.pins])


def changes(pins: Pins, catalog: Catalog) -> tuple[Change, ...]:
    """The tools whose definition differs from their pin, with what differs."""
    found: list[Change] = []
    for key, seen in catalog.hashes.items():
        pin = pins.pins.get(key)
        if pin is not None and pin.hash != seen:
            edits = tuple(_edits(pin.definition, definition(catalog.tools[key])))
            found.append(Change(key=key, pinned=pin.hash, seen=seen, edits=edits))
    return tuple(found)


def accept(pins: Pins, catalog: Catalog, accepted: Mapping[str, str]) -> Pins:
    """Pin tools anew; ``accepted`` maps each key to the hash that was looked at: nothing newer slips through."""
    return _pin(pins, catalog, [key for key, seen in accepted.items() if catalog.hashes.get(key) == seen])


def without_changed(pins: Pins, catalog: Catalog) -> Catalog:
    """``catalog`` without the tools that wait to be accepted."""
    held = {change.key for change in changes(pins, catalog)}
    return Catalog.of(tool for tool in catalog if tool.key not in held) if held else catalog


def pins_to_json(pins: Pins) -> dict[str, Json]:
    """``pins`` as JSON."""
    entries = {key: {"hash": pin.hash, "definition": dict(pin.definition)} for key, pin in pins.pins.items()}
    return {"version": 1, "pins": entries}


def pins_from_json(value: Json) -> Pins:
    """The reverse of `pins_to_json`.

    Raises:
        ConfigError: this is not a record of pins.
    """
    entries = mapping(value).get("pins")
    if mapping(value).get("version") != 1 or not isinstance(entries, dict):
        raise ConfigError("this is not a record of pinned definitions")
    return Pins(pins={key: _pin_from_json(key, entry) for key, entry in mapping(cast("Json", entries)).items()})


def save_pins(pins: Pins, path: Path) -> None:
    """Write ``pins`` to ``path``, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(pins_to_json(pins), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def load_pins(path: Path) -> Pins:
    """The pins in ``path``; none when there is no such file.

    Raises:
        ConfigError: the file is damaged. Starting afresh would accept whatever servers say now, so that is not done.
    """
    try:
        return pins_from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Pins()
    except (OSError, ValueError, ConfigError):
        raise ConfigError(f"{path} is damaged; restore it, or remove it to pin every definition anew") from None


def _pin(pins: Pins, catalog: Catalog, keys: Collection[str]) -> Pins:
    fresh = {key: Pin(hash=catalog.hashes[key], definition=definition(catalog.tools[key])) for key in keys}
    return replace(pins, pins={**pins.pins, **fresh})


def _pin_from_json(key: str, entry: Json) -> Pin:
    found = mapping(entry)
    if not isinstance(found.get("hash"), str) or not isinstance(found.get("definition"), dict):
        raise ConfigError(f"the pin of {key!r} is damaged")
    return Pin(hash=found["hash"], definition=mapping(found["definition"]))


def _edits(old: Json, new: Json) -> list[Edit]:
    """The leaves that differ, in order, at most `MAX_EDITS`; a definition that only swaps parameters says so."""
    found: list[Edit] = []
    for edit in _differing(old, new, ""):
        if len(found) == MAX_EDITS:
            return [*found, Edit(place="…", old=None, new="more differences, not shown")]
        found.append(edit)
    return found or [Edit(place="input_schema.properties", old=_order(old), new=_order(new))]


def _differing(old: Json, new: Json, place: str) -> Iterator[Edit]:
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = mapping(cast("Json", old)), mapping(cast("Json", new))
        for key in dict.fromkeys([*before, *after]):
            inner = f"{place}.{key}" if place else key
            if key not in after or key not in before:
                yield Edit(place=one_line(inner), old=_show(before, key), new=_show(after, key))
            else:
                yield from _differing(before[key], after[key], inner)
    elif old != new or type(cast("object", old)) is not type(cast("object", new)):
        yield Edit(place=one_line(place), old=_text(old), new=_text(new))


def _show(entries: Mapping[str, Json], key: str) -> str | None:
    return _text(entries[key]) if key in entries else None


def _text(value: Json) -> str:
    # ASCII escapes: a hidden character must be seen in the very diff that is to reveal it.
    text = json.dumps(value)
    return text if len(text) <= 2_000 else text[:1_999] + "…"


def _order(value: Json) -> str:
    return "order: " + ", ".join(map(one_line, mapping(mapping(mapping(value).get("input_schema")).get("properties"))))
