"""The current catalogue: a snapshot of all tools, the typed modules that code imports them from, the search index.

It also answers what is known about tools beyond their definitions: pins, flags, learned types, habits.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gristmill.catalog.catalog import Catalog, compare_catalogs
from gristmill.catalog.modules.module_files import compute_stubs_version, remove_old_stubs, write_stubs
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.catalog.pins.pinned_definitions import DefinitionChange
from gristmill.catalog.pins.scan_definitions import DefinitionFinding, findings_from_json, findings_to_json, scan_catalog
from gristmill.catalog.python_names import make_python_name
from gristmill.errors import CallRefused, Refused, UnknownTool, UpstreamUnavailable
from gristmill.events import DefinitionChanged, DefinitionFlagged, Emit, ToolsChanged, ignore_event
from gristmill.loose_names import fold_name
from gristmill.model import Tool
from gristmill.runtime.calls.learn_from_calls import ShapeLearning, UsageLearning
from gristmill.runtime.tools.kept_json import read_json, write_json
from gristmill.runtime.tools.pinning import DefinitionPinning
from gristmill.upstream.base import Upstreams

if TYPE_CHECKING:
    from gristmill.catalog.search.tool_index import ToolIndex

log = logging.getLogger(__name__)

MODULES_WAIT_SECONDS = 0.25
"""How long an execution waits for its modules to be written."""
INDEXES_KEPT = 8
"""Most index files of other snapshots that are kept, the newest: two configurations may share a state folder."""
STUBS_KEPT_SECONDS = 86_400
"""A version of the modules that was not used for this long is removed: no program runs that long."""


_NO_TYPES: Mapping[str, LearnedResultType] = {}


class LearnedKnowledge(Struct, frozen=True, kw_only=True):
    """What a library knows beyond definitions; without any of it, the library still lists and searches."""

    pinning: DefinitionPinning | None = None
    holds_back: bool = False
    """Whether tools whose definition is not the accepted one are hidden."""
    shapes: ShapeLearning | None = None
    usage: UsageLearning | None = None
    rankers: tuple[str, ...] = ()
    """Names of rankers by meaning that installed packages provide; without any, the ranker that is shipped."""
    emit: Emit = ignore_event


class SearchableTools(Struct, frozen=True, kw_only=True):
    """A snapshot and the index over exactly its tools."""

    catalog: Catalog
    index: "ToolIndex"
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    """A short warning by key, for tools that were flagged or have changed."""


class ToolLibrary:
    """Follows the upstreams: whenever they offer something else there is a new snapshot, and new modules soon after."""

    def __init__(self, upstreams: Upstreams, folder: Path, knowledge: LearnedKnowledge | None = None) -> None:
        self._upstreams, self._folder, self._knowledge = upstreams, folder, knowledge or LearnedKnowledge()
        self._offered: dict[str, tuple[Tool, ...]] = {}
        self._catalog = self._visible = Catalog.from_tools(())
        self._held: frozenset[str] = frozenset()
        self._written: tuple[str, str] | None = None
        self._versioned: tuple[Catalog, Mapping[str, LearnedResultType], str] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[SearchableTools] | None = None
        self._indexed: Catalog | None = None
        self._reviewing: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """Returns the snapshot of what the servers offer now."""
        # A server's listing is the same tuple until it changes, so comparing costs one step per server.
        offered = {upstream.name: upstream.tools for upstream in self._upstreams}
        if offered != self._offered:
            old, self._catalog = self._catalog, Catalog.from_tools(tool for tools in offered.values() for tool in tools)
            self._offered, self._visible, self._written = offered, self._catalog, None
            self._handle_new_snapshot(old)
        return self._catalog

    @property
    def visible(self) -> Catalog:
        """Returns the snapshot without the tools that are held back."""
        catalog = self.catalog
        if self._held and any(self.is_accepted(key) for key in self._held):
            self._update_held(catalog)
        return self._visible

    @property
    def learned(self) -> Mapping[str, LearnedResultType]:
        """Returns the result types that were learned, by key."""
        return self._knowledge.shapes.get_types(self._catalog.hashes) if self._knowledge.shapes else _NO_TYPES

    @property
    def usage(self) -> UsageLearning | None:
        """Returns what learns which tools follow which searches; None if that is not configured."""
        return self._knowledge.usage

    @property
    def shapes(self) -> ShapeLearning | None:
        """Returns what learns result types; None if that is not configured."""
        return self._knowledge.shapes

    def refresh(self) -> None:
        """Takes a snapshot of what the servers offer now, so that listeners are told of changes."""
        _ = self.catalog

    def find(self, key: str) -> Tool:
        """Returns the tool with that key.

        Raises:
            UnknownTool: there is no such tool; the error carries near names.
        """
        return self._get_snapshot_for(key).get(key)

    def find_key(self, key: str) -> str | None:
        """Returns the key of the tool as its server spells it, or None."""
        return self._get_snapshot_for(key).find_key(key)

    def is_known(self, key: str) -> bool:
        """Returns whether a server has listed a tool of that key."""
        return self.find_key(key) is not None

    def _get_snapshot_for(self, key: str) -> Catalog:
        """Returns a snapshot that is current for the server of ``key``; cheap, because every call asks several times."""
        server = key.partition(".")[0]
        if server in self._offered and server in self._upstreams and self._upstreams[server].tools is self._offered[server]:
            return self._catalog
        return self.catalog

    async def wait_until_listed(self, key: str) -> None:
        """Waits until the server that ``key`` names has been listed; without a server in it, until all have been.

        Raises:
            UpstreamUnavailable: the server could not be listed.
        """
        server, dot, _ = key.partition(".")
        folded = fold_name(server)
        for upstream in self._upstreams:
            named = server in (upstream.name, make_python_name(upstream.name, "server")) or folded == fold_name(upstream.name)
            if not named and (dot or upstream.tools):
                continue
            await upstream.wait_until_settled()
            status = upstream.status
            # After a first failure the server is tried again and again; the error is known also while that goes on.
            if named and status.state != "ready" and status.error and not upstream.tools:
                raise UpstreamUnavailable(f"{key} cannot be called: {status.error}")

    def is_listed(self, key: str) -> bool:
        """Whether the definition of ``key`` comes from its server in this process, and not from an earlier one."""
        server = key.partition(".")[0]
        return server not in self._upstreams or self._upstreams[server].is_listed

    async def confirm_definition(self, key: str, decided: str) -> None:
        """Connects to the server of ``key`` and checks that the definition is the one that was ``decided`` about, by its hash.

        Raises:
            UpstreamUnavailable: the server cannot be reached or listed.
            CallRefused: the definition is another one now.
        """
        server = key.partition(".")[0]
        if server in self._upstreams:
            await self._upstreams[server].connect()
        if self.hash_definition(key) != decided:
            raise CallRefused(
                f"{key} was not called: its server came back with another definition; read it with search_tools and call again",
                rule="call.definition",
            )

    def find_visible(self, key: str) -> Tool:
        """Returns the tool with that key, for reading.

        Raises:
            UnknownTool: there is no such tool; the error carries near names.
            Refused: the tool is held back until its definition is accepted.
        """
        try:
            return self.visible.get(key)
        except UnknownTool:
            tool = self.catalog.get(key)
            raise Refused(
                f"{tool.key} is held back: its definition has changed and was not accepted", rule="call.definition"
            ) from None

    def hash_definition(self, key: str) -> str:
        """Returns the hash of the definition that the key has now; empty for a tool that is not listed."""
        return self._get_snapshot_for(key).hashes.get(key, "")

    def is_accepted(self, key: str) -> bool:
        """Returns whether the tool's definition is the one that was first seen, or last accepted."""
        return self._knowledge.pinning is None or self._knowledge.pinning.is_accepted(self._get_snapshot_for(key), key)

    async def changes(self) -> tuple[DefinitionChange, ...]:
        """Returns the tools whose definition is not the accepted one, and what differs."""
        pinning = self._knowledge.pinning
        return await asyncio.to_thread(pinning.changes, self.catalog) if pinning else ()

    async def accept(self, seen: Mapping[str, str]) -> tuple[str, ...]:
        """Accepts definitions, each by the hash that was reviewed; returns the keys that were accepted."""
        pinning = self._knowledge.pinning
        accepted = await asyncio.to_thread(pinning.accept, self.catalog, seen) if pinning else ()
        self._update_held(self.catalog)
        self._indexed = None
        return accepted

    async def findings(self) -> tuple[DefinitionFinding, ...]:
        """Returns what is suspicious in the definitions."""
        return await asyncio.to_thread(_find_suspicious, self.catalog, self._folder)

    async def write_modules(self) -> str | None:
        """Returns the folder of typed modules for the snapshot; None until it is written, when code calls tools by name."""
        catalog, learned = self.visible, self.learned
        if not len(catalog):
            return None
        version = self._get_version(catalog, learned)
        if self._written is None or self._written[0] != version:
            if self._writing is None or self._writing.done():
                self._writing = asyncio.get_running_loop().create_task(self._refresh_modules(catalog, learned, version))
            if self._written is None:  # newly learned types are not waited for: the next execution has them
                await asyncio.wait([self._writing], timeout=MODULES_WAIT_SECONDS)
        return self._written[1] if self._written else None

    async def load_searchable(self) -> SearchableTools:
        """Returns the snapshot with its index: built in a thread at the first search, or read from disk if built before."""
        catalog = self.visible
        if self._indexing is None or self._indexed is not catalog or _has_failed(self._indexing):
            self._indexed = catalog
            self._indexing = asyncio.create_task(asyncio.to_thread(self._open_index, catalog))
        # Others may wait for the same index: a caller that is cancelled must not cancel it for them.
        return await asyncio.shield(self._indexing)

    async def close(self) -> None:
        """Waits for all work under way, and closes what learns."""
        at_work: list[asyncio.Task[Any]] = [t for t in (self._writing, self._indexing, self._reviewing) if t is not None]
        await asyncio.gather(*at_work, return_exceptions=True)
        for part in (self._knowledge.pinning, self._knowledge.shapes, self._knowledge.usage):
            if part is not None:
                await part.close()

    def _handle_new_snapshot(self, old: Catalog) -> None:
        """Handles a new snapshot: pins new tools, holds back changed ones, and emits events."""
        if self._knowledge.pinning is not None:
            self._knowledge.pinning.pin_new_tools(self._catalog)
            self._update_held(self._catalog)
        if self._knowledge.emit is ignore_event:
            return
        found = compare_catalogs(old, self._catalog)
        if found and len(old):
            self._knowledge.emit(ToolsChanged(added=found.added, removed=found.removed, changed=found.changed))
        if self._reviewing is None or self._reviewing.done():
            self._reviewing = asyncio.get_running_loop().create_task(self._report_definitions())

    def _update_held(self, catalog: Catalog) -> None:
        pinning = self._knowledge.pinning
        self._held = pinning.list_held(catalog) if pinning else frozenset()
        hidden = self._held if self._knowledge.holds_back else frozenset[str]()
        self._visible = Catalog.from_tools(tool for tool in catalog if tool.key not in hidden) if hidden else catalog
        self._written = None

    async def _report_definitions(self) -> None:
        for change in await self.changes():
            self._knowledge.emit(DefinitionChanged(tool=change.key, places=tuple(edit.place for edit in change.edits)))
        for finding in await self.findings():
            self._knowledge.emit(DefinitionFlagged(tool=finding.key, rule=finding.rule, place=finding.place, shown=finding.shown))

    async def _refresh_modules(self, catalog: Catalog, learned: Mapping[str, LearnedResultType], version: str) -> None:
        try:
            folder = await asyncio.to_thread(_write_modules, catalog, self._folder, learned)
        except OSError as error:
            log.warning("typed modules could not be written: %s", error)
            return
        if catalog is self._visible:
            self._written = version, folder.name

    def _get_version(self, catalog: Catalog, learned: Mapping[str, LearnedResultType]) -> str:
        """Returns the version of the modules, computed once for the same snapshot and the same learned types."""
        if self._versioned is None or self._versioned[0] is not catalog or self._versioned[1] is not learned:
            self._versioned = catalog, learned, compute_stubs_version(catalog, learned)
        return self._versioned[2]

    def _open_index(self, catalog: Catalog) -> SearchableTools:
        # Imported here: the arrays take time to load, and neither a handshake nor an execution needs them.
        from gristmill.catalog.search.rankers.load_rankers import load_ranker
        from gristmill.catalog.search.tool_index import ToolIndex

        file, tools = self._folder / f"index-{catalog.version}.bin", tuple(catalog)
        meaning = load_ranker(self._knowledge.rankers)
        index = ToolIndex.load(file, tools, meaning=meaning)
        if index is None:
            index = ToolIndex.build(tools, meaning=meaning)
            try:
                index.save(file)
                _remove_old_files(self._folder, "index-*")
            except OSError as error:
                log.warning("the search index is not kept: %s", error.strerror)
        return SearchableTools(catalog=catalog, index=index, marks=self._collect_marks(catalog))

    def _collect_marks(self, catalog: Catalog) -> dict[str, str]:
        marks: dict[str, list[str]] = {}
        for finding in _find_suspicious(catalog, self._folder):
            marks.setdefault(finding.key, []).append(finding.rule.replace("-", " "))
        for key in self._held:
            marks.setdefault(key, []).append("definition changed")
        return {key: ", ".join(dict.fromkeys(words)) for key, words in marks.items()}


def _write_modules(catalog: Catalog, folder: Path, learned: Mapping[str, LearnedResultType]) -> Path:
    written = write_stubs(catalog, folder, learned)
    remove_old_stubs(folder, keep=[written], unused_since=time.time() - STUBS_KEPT_SECONDS)
    return written


def _find_suspicious(catalog: Catalog, folder: Path) -> tuple[DefinitionFinding, ...]:
    """Finds suspicious definitions: every definition is scanned once per snapshot, and the findings are kept on disk."""
    file = folder / f"flags-{catalog.version}.json"
    kept = read_json(file)
    if kept is not None:
        return findings_from_json(kept)
    found = scan_catalog(catalog)
    try:
        write_json(file, findings_to_json(found))
        _remove_old_files(folder, "flags-*.json")
    except OSError as error:
        log.warning("what is suspicious in definitions is not kept: %s", error.strerror)
    return found


def _remove_old_files(folder: Path, pattern: str) -> None:
    """Removes all but the newest files that match ``pattern``."""
    newest_first = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[INDEXES_KEPT:]:
        path.unlink(missing_ok=True)


def _has_failed(task: "asyncio.Task[SearchableTools]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
