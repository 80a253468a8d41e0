"""The catalogue as it is now: a snapshot of all tools, the typed modules that code imports them from, the search index.

What is known about tools beyond their definitions - pins, flags, learned types, habits - is asked for here too.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.catalog.catalog import Catalog, difference
from gristmill.catalog.modules.module_files import forget_stubs, stubs_version, write_stubs
from gristmill.catalog.modules.tool_module import LearnedResult
from gristmill.catalog.pins.pinned_definitions import Change
from gristmill.catalog.pins.scan_definitions import Finding, findings_from_json, findings_to_json, scan
from gristmill.catalog.python_names import python_name
from gristmill.errors import Refused, UnknownTool, UpstreamUnavailable
from gristmill.events import DefinitionChanged, DefinitionFlagged, Emit, ToolsChanged, ignore
from gristmill.model import Tool
from gristmill.runtime.calls.learn_from_calls import Shapes, Usage
from gristmill.runtime.tools.kept_json import read_json, write_json
from gristmill.runtime.tools.pinning import Pinning
from gristmill.upstream.base import Upstreams
from gristmill.values import dataclass

if TYPE_CHECKING:
    from gristmill.catalog.search.ranker import RankerKind
    from gristmill.catalog.search.tool_index import Index

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.25
"""How long an execution waits for its modules to be written."""
INDEXES_KEPT = 8
"""Files of other snapshots that stay, the newest: two configurations may share a state folder."""
STUBS_KEPT_SECONDS = 86_400
"""A version of the modules that nobody has asked for since then is removed: no program runs that long."""


_NOTHING: Mapping[str, LearnedResult] = {}


def _shipped() -> "RankerKind":
    from gristmill.catalog.search.rank_dense import DenseRanker

    return DenseRanker


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a library knows beyond definitions; without any of it, it still lists and searches."""

    pinning: Pinning | None = None
    holds_back: bool = False
    """Whether tools that are not as they were accepted are hidden."""
    shapes: Shapes | None = None
    usage: Usage | None = None
    ranker: Callable[[], "RankerKind"] = field(default=_shipped)
    emit: Emit = ignore


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """A snapshot and the index over exactly its tools."""

    catalog: Catalog
    index: "Index"
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    """A short warning by key, for tools that were flagged or have changed."""


class Library:
    """Follows the upstreams: whenever they offer something else there is a new snapshot, and new modules soon after."""

    def __init__(self, upstreams: Upstreams, folder: Path, knowledge: Knowledge | None = None) -> None:
        self._upstreams, self._folder, self._known = upstreams, folder, knowledge or Knowledge()
        self._offered: dict[str, tuple[Tool, ...]] = {}
        self._catalog = self._visible = Catalog.of(())
        self._held: frozenset[str] = frozenset()
        self._written: tuple[str, str] | None = None
        self._versioned: tuple[Catalog, Mapping[str, LearnedResult], str] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[Searchable] | None = None
        self._indexed: Catalog | None = None
        self._reviewing: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """The snapshot of what the servers offer now."""
        # A server's listing is the same tuple until it changes, so comparing costs one step per server.
        offered = {upstream.name: upstream.tools for upstream in self._upstreams}
        if offered != self._offered:
            old, self._catalog = self._catalog, Catalog.of(tool for tools in offered.values() for tool in tools)
            self._offered, self._visible, self._written = offered, self._catalog, None
            self._take(old)
        return self._catalog

    @property
    def visible(self) -> Catalog:
        """The snapshot without the tools that are held back."""
        catalog = self.catalog
        if self._held and any(self.accepted(key) for key in self._held):
            self._hold(catalog)
        return self._visible

    @property
    def learned(self) -> Mapping[str, LearnedResult]:
        """The result types that were learned, by key."""
        return self._known.shapes.shown(self._catalog.hashes) if self._known.shapes else _NOTHING

    @property
    def usage(self) -> Usage | None:
        """Which tools followed which questions, if that is learned."""
        return self._known.usage

    @property
    def shapes(self) -> Shapes | None:
        """What learns result types, if that is wanted."""
        return self._known.shapes

    @property
    def held(self) -> frozenset[str]:
        """The keys of the tools that are not as they were accepted, as far as this process knows."""
        return self._held

    async def saved(self) -> None:
        """Return when what was pinned is on disk."""
        if self._known.pinning is not None:
            await self._known.pinning.close()

    def refresh(self) -> None:
        """Take up what the servers offer now, so that whoever listens hears of it."""
        _ = self.catalog

    def find(self, key: str) -> Tool:
        """The tool of that key.

        Raises:
            UnknownTool: no such tool; carries near names.
        """
        return self._with(key).get(key)

    def _with(self, key: str) -> Catalog:
        """The snapshot as far as ``key`` goes. Every call asks several times, about one server of perhaps many."""
        server = key.partition(".")[0]
        if server in self._offered and self._upstreams[server].tools is self._offered[server]:
            return self._catalog
        return self.catalog

    async def listed(self, key: str) -> None:
        """Return when the server that ``key`` names has been listed.

        Raises:
            UpstreamUnavailable: it could not be.
        """
        server = key.partition(".")[0]
        for upstream in self._upstreams:
            if server in (upstream.name, python_name(upstream.name, "server")):
                await upstream.settled()
                status = upstream.status
                # After a first failure it is tried again and again: why it failed is known also while it is.
                if status.state != "ready" and status.error and not upstream.tools:
                    raise UpstreamUnavailable(f"{key} cannot be called: {status.error}")

    def shown(self, key: str) -> Tool:
        """The tool of that key, to be read.

        Raises:
            UnknownTool: no such tool; carries near names.
            Refused: it is held back until somebody accepts its definition.
        """
        try:
            return self.visible.get(key)
        except UnknownTool:
            tool = self.catalog.get(key)
            raise Refused(
                f"{tool.key} is held back: its definition has changed and was not accepted", rule="call.definition"
            ) from None

    def definition(self, key: str) -> str:
        """The definition behind that key now, by hash; empty for a tool that nobody has listed."""
        return self._with(key).hashes.get(key, "")

    def accepted(self, key: str) -> bool:
        """Whether the tool of that key is as it was when it was first seen, or last accepted."""
        return self._known.pinning is None or self._known.pinning.accepted(self._with(key), key)

    async def changes(self) -> tuple[Change, ...]:
        """The tools that are not as they were accepted, and what differs."""
        pinning = self._known.pinning
        return await asyncio.to_thread(pinning.changes, self.catalog) if pinning else ()

    async def accept(self, seen: Mapping[str, str]) -> tuple[str, ...]:
        """Accept definitions, each by the hash that was looked at; returns the keys that were accepted."""
        pinning = self._known.pinning
        accepted = await asyncio.to_thread(pinning.accept, self.catalog, seen) if pinning else ()
        self._hold(self.catalog)
        self._indexed = None
        return accepted

    async def findings(self) -> tuple[Finding, ...]:
        """What is suspicious in the definitions."""
        return await asyncio.to_thread(_findings, self.catalog, self._folder)

    async def modules(self) -> str | None:
        """The folder of typed modules for the snapshot. A large one takes its time: until then code calls tools by name."""
        catalog, learned = self.visible, self.learned
        if not len(catalog):
            return None
        version = self._version(catalog, learned)
        if self._written is None or self._written[0] != version:
            if self._writing is None or self._writing.done():
                self._writing = asyncio.get_running_loop().create_task(self._write(catalog, learned, version))
            if self._written is None:  # newly learned types are no reason to wait: the next execution has them
                await asyncio.wait([self._writing], timeout=PATIENCE_SECONDS)
        return self._written[1] if self._written else None

    async def searchable(self) -> Searchable:
        """The snapshot with its index: made in a thread by whoever searches first, from disk if it was made before."""
        catalog = self.visible
        if self._indexing is None or self._indexed is not catalog or _failed(self._indexing):
            self._indexed = catalog
            self._indexing = asyncio.create_task(asyncio.to_thread(self._open_index, catalog))
        # Others may wait for the same index: one that gives up must not take it from them.
        return await asyncio.shield(self._indexing)

    async def close(self) -> None:
        """Wait for whoever is at work."""
        at_work: list[asyncio.Task[Any]] = [t for t in (self._writing, self._indexing, self._reviewing) if t is not None]
        await asyncio.gather(*at_work, return_exceptions=True)
        for part in (self._known.pinning, self._known.shapes, self._known.usage):
            if part is not None:
                await part.close()

    def _take(self, old: Catalog) -> None:
        """A new snapshot: pin what is new in it, hold back what has changed, and tell whoever listens."""
        if self._known.pinning is not None:
            self._known.pinning.take(self._catalog)
            self._hold(self._catalog)
        if self._known.emit is ignore:
            return
        found = difference(old, self._catalog)
        if found and len(old):
            self._known.emit(ToolsChanged(added=found.added, removed=found.removed, changed=found.changed))
        if self._reviewing is None or self._reviewing.done():
            self._reviewing = asyncio.get_running_loop().create_task(self._review())

    def _hold(self, catalog: Catalog) -> None:
        pinning = self._known.pinning
        self._held = pinning.held(catalog) if pinning else frozenset()
        hidden = self._held if self._known.holds_back else frozenset[str]()
        self._visible = Catalog.of(tool for tool in catalog if tool.key not in hidden) if hidden else catalog
        self._written = None

    async def _review(self) -> None:
        for change in await self.changes():
            self._known.emit(DefinitionChanged(tool=change.key, places=tuple(edit.place for edit in change.edits)))
        for finding in await self.findings():
            self._known.emit(DefinitionFlagged(tool=finding.key, rule=finding.rule, place=finding.place, shown=finding.shown))

    async def _write(self, catalog: Catalog, learned: Mapping[str, LearnedResult], version: str) -> None:
        try:
            folder = await asyncio.to_thread(_write_modules, catalog, self._folder, learned)
        except OSError as error:
            log.warning("typed modules could not be written: %s", error)
            return
        if catalog is self._visible:
            self._written = version, folder.name

    def _version(self, catalog: Catalog, learned: Mapping[str, LearnedResult]) -> str:
        """The version of the modules; made once for the same snapshot and the same learned types."""
        if self._versioned is None or self._versioned[0] is not catalog or self._versioned[1] is not learned:
            self._versioned = catalog, learned, stubs_version(catalog, learned)
        return self._versioned[2]

    def _open_index(self, catalog: Catalog) -> Searchable:
        # The arrays and the word table take 0.2 s to load: executing code needs neither.
        from gristmill.catalog.search.tool_index import Index

        file, tools = self._folder / index_name(catalog), tuple(catalog)
        meaning = self._known.ranker()
        index = Index.load(file, tools, meaning=meaning)
        if index is None:
            index = Index.build(tools, meaning=meaning)
            try:
                index.save(file)
                forget(self._folder, "index-*")
            except OSError as error:
                log.warning("the search index is not kept: %s", error.strerror)
        return Searchable(catalog=catalog, index=index, marks=self._marks(catalog))

    def _marks(self, catalog: Catalog) -> dict[str, str]:
        marks: dict[str, list[str]] = {}
        for finding in _findings(catalog, self._folder):
            marks.setdefault(finding.key, []).append(finding.rule.replace("-", " "))
        for key in self._held:
            marks.setdefault(key, []).append("definition changed")
        return {key: ", ".join(dict.fromkeys(words)) for key, words in marks.items()}


def index_name(catalog: Catalog) -> str:
    """The file that holds the index of a snapshot."""
    return f"index-{catalog.version}.bin"


def _write_modules(catalog: Catalog, folder: Path, learned: Mapping[str, LearnedResult]) -> Path:
    written = write_stubs(catalog, folder, learned)
    forget_stubs(folder, keep=[written], unused_since=time.time() - STUBS_KEPT_SECONDS)
    return written


def _findings(catalog: Catalog, folder: Path) -> tuple[Finding, ...]:
    """What is suspicious: read every word of every definition once per snapshot."""
    file = folder / f"flags-{catalog.version}.json"
    kept = read_json(file)
    if kept is not None:
        return findings_from_json(kept)
    found = scan(catalog)
    try:
        write_json(file, findings_to_json(found))
        forget(folder, "flags-*.json")
    except OSError as error:
        log.warning("what is suspicious in definitions is not kept: %s", error.strerror)
    return found


def forget(folder: Path, pattern: str) -> None:
    """Remove all but the newest files of that kind."""
    newest_first = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[INDEXES_KEPT:]:
        path.unlink(missing_ok=True)


def _failed(task: "asyncio.Task[Searchable]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
