"""Which of a server's tools are offered. Pure, and apart from the listing, which needs the MCP SDK."""

from fnmatch import fnmatchcase

from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which of a server's tools are offered."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def admits(self, name: str) -> bool:
        """Whether ``name`` is offered; an empty ``include`` offers all, ``exclude`` wins."""
        if any(fnmatchcase(name, pattern) for pattern in self.exclude):
            return False
        return not self.include or any(fnmatchcase(name, pattern) for pattern in self.include)
