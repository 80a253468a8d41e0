"""The catalogue as it is now: a snapshot of all tools, the typed modules that code imports them from, the search index."""

import asyncio
import compileall
import logging
import py_compile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.stub_files import write_stubs
from gristmill.model import Tool
from gristmill.upstream.base import Upstreams

if TYPE_CHECKING:
    from gristmill.catalog.search import Index

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.25
"""How long an execution waits for its modules to be written."""
INDEXES_KEPT = 8
"""Index files of other snapshots that stay, the newest: two configurations may share a state folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """A snapshot and the index over exactly its tools."""

    catalog: Catalog
    index: "Index"


class Library:
    """Follows the upstreams: whenever they offer something else there is a new snapshot, and new modules soon after."""

    def __init__(self, upstreams: Upstreams, folder: Path) -> None:
        self._upstreams, self._folder = upstreams, folder
        self._offered: tuple[tuple[Tool, ...], ...] = ()
        self._catalog = Catalog.of(())
        self._written: str | None = None
        self._writing: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[Searchable] | None = None
        self._indexed: Catalog | None = None

    @property
    def catalog(self) -> Catalog:
        """The snapshot of what the servers offer now."""
        # Asked on every call: a server's listing is the same tuple until it changes, so comparing costs one step per server.
        offered = tuple(upstream.tools for upstream in self._upstreams)
        if offered != self._offered:
            self._offered, self._catalog = offered, Catalog.of(tool for tools in offered for tool in tools)
            self._written = None
        return self._catalog

    def find(self, key: str) -> Tool:
        """The tool of that key.

        Raises:
            UnknownTool: no such tool; carries near names.
        """
        return self.catalog.get(key)

    def accepted(self, key: str) -> bool:  # noqa: ARG002 - definitions are pinned elsewhere
        """Whether the tool of that key is as it was when it was first seen, or last accepted."""
        return True

    async def modules(self) -> str | None:
        """The folder of typed modules for the snapshot. A large one takes its time: until then code calls tools by name."""
        catalog = self.catalog
        if self._written is None and len(catalog):
            if self._writing is None or self._writing.done():
                self._writing = asyncio.get_running_loop().create_task(self._write(catalog))
            await asyncio.wait([self._writing], timeout=PATIENCE_SECONDS)
        return self._written

    async def searchable(self) -> Searchable:
        """The snapshot with its index: made in a thread by whoever searches first, from disk if it was made before."""
        catalog = self.catalog
        if self._indexing is None or self._indexed is not catalog or _failed(self._indexing):
            self._indexed = catalog
            self._indexing = asyncio.create_task(asyncio.to_thread(_open_index, catalog, self._folder))
        # Others may wait for the same index: one that gives up must not take it from them.
        return await asyncio.shield(self._indexing)

    async def close(self) -> None:
        """Wait for whoever is at work."""
        at_work: list[asyncio.Task[Any]] = [task for task in (self._writing, self._indexing) if task is not None]
        await asyncio.gather(*at_work, return_exceptions=True)

    async def _write(self, catalog: Catalog) -> None:
        try:
            folder = await asyncio.to_thread(_write_modules, catalog, self._folder)
        except OSError as error:
            log.warning("typed modules could not be written: %s", error)
            return
        if catalog is self._catalog:
            self._written = folder.name


def _write_modules(catalog: Catalog, folder: Path) -> Path:
    """Source to read, and byte code next to it: the jail sees both read-only and could not cache any itself."""
    written = write_stubs(catalog, folder)
    compileall.compile_dir(written, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    return written


def _open_index(catalog: Catalog, folder: Path) -> Searchable:
    # The arrays and the word table take 0.2 s to load: executing code needs neither.
    from gristmill.catalog.search import Index

    file, tools = folder / f"index-{catalog.version}.npz", tuple(catalog)
    index = Index.load(file, tools)
    if index is None:
        index = Index.build(tools)
        try:
            index.save(file)
            _forget_indexes(folder)
        except OSError as error:
            log.warning("the search index is not kept: %s", error.strerror)
    return Searchable(catalog=catalog, index=index)


def _forget_indexes(folder: Path) -> None:
    newest_first = sorted(folder.glob("index-*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[INDEXES_KEPT:]:
        path.unlink(missing_ok=True)


def _failed(task: "asyncio.Task[Searchable]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
