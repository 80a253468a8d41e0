"""Decides which tools of a server are offered. Pure, and separate from the listing, which needs the MCP SDK."""

from fnmatch import fnmatchcase

from msgspec import Struct


class ToolFilter(Struct, frozen=True, kw_only=True):
    """Name patterns that decide which tools of a server are offered."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def admits(self, name: str) -> bool:
        """Whether the tool ``name`` is offered. An empty ``include`` offers all; ``exclude`` wins over ``include``."""
        if any(fnmatchcase(name, pattern) for pattern in self.exclude):
            return False
        return not self.include or any(fnmatchcase(name, pattern) for pattern in self.include)
