"""Definitions pinned at first sight: what is held back, what changed, and the layer that refuses calls to it."""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.pins.pinned_definitions import Change, Pins, accept, changes, load_pins, pin_new, save_pins
from gristmill.errors import CallRefused
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.upstream.base import Upstreams
from gristmill.values import dataclass

log = logging.getLogger(__name__)


class Pinning:
    """The pins on disk, against the snapshot of now. Other processes may accept and pin at the same time."""

    def __init__(self, path: Path, is_ours: Callable[[str], bool]) -> None:
        """``is_ours`` names servers whose tools are our own functions: whoever changes those changes us."""
        self._path, self._is_ours = path, is_ours
        self._pins = Pins()
        self._stamp: int = -1
        self._saving: asyncio.Future[None] | None = None

    def take(self, catalog: Catalog) -> None:
        """Pin what was never seen before; it is on disk a moment later.

        Raises:
            ConfigError: the pins are damaged.
        """
        self._reload()
        fresh = pin_new(self._pins, self._foreign(catalog))
        if len(fresh.pins) > len(self._pins.pins):
            self._pins = fresh
            self._save_soon(catalog)

    def held(self, catalog: Catalog) -> frozenset[str]:
        """The tools that are not as they were accepted."""
        return frozenset(key for key, seen in self._foreign(catalog).hashes.items() if not self._fits(key, seen))

    def accepted(self, catalog: Catalog, key: str) -> bool:
        """Whether the tool is as it was accepted; what somebody accepts meanwhile counts at once."""
        if self._is_ours(key.partition(".")[0]) or self._fits(key, catalog.hashes.get(key)):
            return True
        self._reload()
        return self._fits(key, catalog.hashes.get(key))

    def changes(self, catalog: Catalog) -> tuple[Change, ...]:
        """What differs, tool by tool."""
        self._reload()
        return changes(self._pins, self._foreign(catalog))

    def accept(self, catalog: Catalog, seen: Mapping[str, str]) -> tuple[str, ...]:
        """Pin these tools anew, each only if its hash is the one that was looked at; returns the keys that were."""
        with _locked(self._path):
            self._pins = accept(load_pins(self._path), self._foreign(catalog), seen)
            save_pins(self._pins, self._path)
            self._stamp = _changed_at(self._path)
        return tuple(key for key in seen if self._fits(key, catalog.hashes.get(key)))

    async def close(self) -> None:
        """Wait until everything is on disk."""
        if self._saving is not None:
            await asyncio.gather(self._saving, return_exceptions=True)

    def _fits(self, key: str, seen: str | None) -> bool:
        pin = self._pins.pins.get(key)
        return pin is None or pin.hash == seen

    def _foreign(self, catalog: Catalog) -> Catalog:
        if not any(self._is_ours(tool.server) for tool in catalog):
            return catalog
        tools = {key: tool for key, tool in catalog.tools.items() if not self._is_ours(tool.server)}
        return replace(catalog, tools=tools, hashes={key: catalog.hashes[key] for key in tools})

    def _reload(self) -> None:
        stamp = _changed_at(self._path)
        if stamp != self._stamp:
            ours, self._stamp = self._pins, stamp
            kept = load_pins(self._path)
            # What we have seen and not saved yet counts too; what is on disk was there first.
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
            with _locked(self._path):
                save_pins(pin_new(load_pins(self._path), self._foreign(catalog)), self._path)
        except OSError as error:
            log.warning("definitions are not pinned on disk: %s", error.strerror)


@dataclass(frozen=True, slots=True)
class HoldBack:
    """A layer that refuses calls to tools whose definition is not the one that was accepted."""

    accepted: Callable[[str], bool]
    upstreams: Upstreams
    looked: set[str] = field(default_factory=set[str])
    """Servers that have been asked in this run: what is remembered from the last one may be out of date."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on, or refuse it.

        Raises:
            CallRefused: the definition is not the one that was accepted.
        """
        server = call.tool.partition(".")[0]
        if server not in self.looked and server in self.upstreams:
            await self.upstreams[server].settled()
            self.looked.add(server)
        if not self.accepted(call.tool):
            raise CallRefused(
                f"the definition of {call.tool} is not the one that was accepted: see `gristmill tools --changed`, "
                f"then `gristmill tools accept {call.tool}`",
                rule="call.definition",
            )
        return await proceed(call)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """One process at a time reads, changes and writes the pins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
