"""The catalogue as it is now: a snapshot of all tools, and the typed modules that code imports them from."""

import asyncio
import compileall
import logging
import py_compile
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.stub_files import write_stubs
from gristmill.model import Tool
from gristmill.upstream.base import Upstreams

log = logging.getLogger(__name__)


class Library:
    """Follows the upstreams: whenever they offer something else there is a new snapshot, and new modules soon after."""

    def __init__(self, upstreams: Upstreams, folder: Path) -> None:
        self._upstreams, self._folder = upstreams, folder
        self._tools: tuple[Tool, ...] = ()
        self._catalog = Catalog.of(())
        self._written: str | None = None
        self._writing: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """The snapshot of what the servers offer now."""
        tools = self._upstreams.tools
        if tools != self._tools:
            self._tools, self._catalog = tools, Catalog.of(tools)
            self._written = None
        return self._catalog

    def find(self, key: str) -> Tool:
        """The tool of that key.

        Raises:
            UnknownTool: no such tool; carries near names.
        """
        return self.catalog.get(key)

    @property
    def modules(self) -> str | None:
        """The folder of typed modules for the snapshot, once written; until then code calls tools by name."""
        catalog = self.catalog
        if self._written is None and len(catalog) and (self._writing is None or self._writing.done()):
            self._writing = asyncio.get_running_loop().create_task(self._write(catalog))
        return self._written

    async def close(self) -> None:
        """Wait for a writer that is at work."""
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)

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
