"""Pins definitions at first sight: which tools are held back, what changed, and the layer that refuses calls to them."""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.pins.pinned_definitions import (
    DefinitionChange,
    Pin,
    Pins,
    accept_changes,
    find_changes,
    load_pins,
    pin_new_tools,
    save_pins,
)
from gristmill.errors import CallRefused
from gristmill.model import Handler, ToolCall, ToolResult

log = logging.getLogger(__name__)


def find_no_origin(_server: str) -> str | None:
    """Says of every server that its origin is not known: then its name alone tells it from others."""
    return None


class DefinitionPinning:
    """Compares the pins on disk with the current snapshot. Other processes may accept and pin at the same time.

    A pin belongs to a tool's key and to the origin of its server: two projects may give one name to different servers. Pins
    without an origin, of early versions, hold for every origin that has none of its own.
    """

    def __init__(
        self, path: Path, is_ours: Callable[[str], bool], find_origin: Callable[[str], str | None] = find_no_origin
    ) -> None:
        """``is_ours`` tells servers whose tools are our own functions: those are trusted, as changing them means changing us.

        ``find_origin`` returns a digest of what a server starts or reaches.
        """
        self._path, self._is_ours, self._find_origin = path, is_ours, find_origin
        self._pins = Pins()
        self._stamp: int = -1
        self._saving: asyncio.Future[None] | None = None

    def pin_new_tools(self, catalog: Catalog) -> None:
        """Pins tools that were never seen before; the pins are on disk a moment later.

        Raises:
            ConfigError: the pins are damaged.
        """
        self._reload()
        fresh = self._pin_new(self._pins, catalog)
        if len(fresh.pins) > len(self._pins.pins):
            self._pins = fresh
            self._save_soon(catalog)

    def list_held(self, catalog: Catalog) -> frozenset[str]:
        """Returns the keys of the tools whose definition is not the accepted one."""
        return frozenset(
            key for key, seen in self._without_our_tools(catalog).hashes.items() if not self._is_as_pinned(key, seen)
        )

    def is_accepted(self, catalog: Catalog, key: str) -> bool:
        """Returns whether the tool's definition is the accepted one; what another process accepts counts at once."""
        if self._is_ours(key.partition(".")[0]) or self._is_as_pinned(key, catalog.hashes.get(key)):
            return True
        self._reload()
        return self._is_as_pinned(key, catalog.hashes.get(key))

    def changes(self, catalog: Catalog) -> tuple[DefinitionChange, ...]:
        """Returns what differs, tool by tool."""
        self._reload()
        return find_changes(self._select_pins(self._pins, catalog), self._without_our_tools(catalog))

    def accept(self, catalog: Catalog, seen: Mapping[str, str]) -> tuple[str, ...]:
        """Pins these tools anew, each only if its hash is the one that was reviewed; returns the keys that were pinned."""
        with _lock_pins(self._path):
            kept = load_pins(self._path)
            accepted = accept_changes(self._select_pins(kept, catalog), self._without_our_tools(catalog), seen)
            self._pins = self._insert_pins(kept, {key: accepted.pins[key] for key in seen if key in accepted.pins})
            save_pins(self._pins, self._path)
            self._stamp = _read_mtime(self._path)
        return tuple(key for key in seen if self._is_as_pinned(key, catalog.hashes.get(key)))

    async def close(self) -> None:
        """Waits until everything is on disk."""
        if self._saving is not None:
            await asyncio.gather(self._saving, return_exceptions=True)

    def _is_as_pinned(self, key: str, seen: str | None) -> bool:
        pin = self._find_pin(self._pins, key)
        return pin is None or pin.hash == seen

    def _find_pin(self, pins: Pins, key: str) -> Pin | None:
        return pins.pins.get(self._name_pin(key)) or pins.pins.get(key)

    def _name_pin(self, key: str) -> str:
        """Returns the name under which the pin of a tool is kept."""
        origin = self._find_origin(key.partition(".")[0])
        return key if origin is None else f"{key}@{origin}"

    def _select_pins(self, pins: Pins, catalog: Catalog) -> Pins:
        """Returns the pins of the tools in ``catalog``, by their keys."""
        return Pins(pins={key: pin for key in catalog.tools if (pin := self._find_pin(pins, key)) is not None})

    def _insert_pins(self, pins: Pins, named: Mapping[str, Pin]) -> Pins:
        return Pins(pins={**pins.pins, **{self._name_pin(key): pin for key, pin in named.items()}})

    def _pin_new(self, pins: Pins, catalog: Catalog) -> Pins:
        known = self._select_pins(pins, catalog)
        found = pin_new_tools(known, self._without_our_tools(catalog))
        return self._insert_pins(pins, {key: pin for key, pin in found.pins.items() if key not in known.pins})

    def _without_our_tools(self, catalog: Catalog) -> Catalog:
        if not any(self._is_ours(tool.server) for tool in catalog):
            return catalog
        tools = {key: tool for key, tool in catalog.tools.items() if not self._is_ours(tool.server)}
        return replace(catalog, tools=tools, hashes={key: catalog.hashes[key] for key in tools})

    def _reload(self) -> None:
        stamp = _read_mtime(self._path)
        if stamp != self._stamp:
            ours, self._stamp = self._pins, stamp
            kept = load_pins(self._path)
            # Pins that this process has not saved yet count too; those on disk were there first and win.
            self._pins = Pins(pins={**ours.pins, **kept.pins})

    def _save_soon(self, catalog: Catalog) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._save(catalog)
            return
        before = self._saving

        async def save() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            await asyncio.to_thread(self._save, catalog)

        self._saving = loop.create_task(save())

    def _save(self, catalog: Catalog) -> None:
        try:
            with _lock_pins(self._path):
                save_pins(self._pin_new(load_pins(self._path), catalog), self._path)
        except OSError as error:
            log.warning("definitions are not pinned on disk: %s", error.strerror)


class HoldBackChanged(Struct, frozen=True):
    """A layer that refuses calls to tools whose definition is not the accepted one."""

    is_accepted: Callable[[str], bool]

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, or refuses it.

        Raises:
            CallRefused: the definition is not the accepted one.
        """
        if not self.is_accepted(call.tool):
            raise CallRefused(
                f"the definition of {call.tool} is not the one that was accepted: see `gristmill tools --changed`, "
                f"then `gristmill tools accept {call.tool}`",
                rule="call.definition",
            )
        return await proceed(call)


def _read_mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@contextmanager
def _lock_pins(path: Path) -> Generator[None]:
    """Locks the pins, so that one process at a time reads, changes and writes them."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
