"""Keeps the end of what a server's program prints, which usually explains why the server ended."""

import anyio.to_thread

from gristmill.upstream.stdio.failure_causes import LONGEST_LINE, clean_lines, find_cause
from gristmill.upstream.stdio.server_log import ServerLog

MOST_LINES = 20
_STDERR_BYTES = 16_384
_STRAY_LINES = 3


class ServerOutput:
    """The last lines of standard error, and of standard output those that are no messages."""

    def __init__(self, log: ServerLog | None = None) -> None:
        """Also passes everything on to ``log``, if there is one."""
        self._log = log
        self._stderr = b""
        self._stray: list[str] = []

    def clear(self) -> None:
        """Clears everything, because a new process starts."""
        self._stderr = b""
        self._stray.clear()

    async def note_start(self) -> None:
        """Notes in the log that the program is started."""
        if self._log is not None:
            await anyio.to_thread.run_sync(self._log.note, "started")

    def add(self, chunk: bytes) -> None:
        """Adds a chunk of standard error and drops older ones."""
        self._stderr = (self._stderr + chunk[-_STDERR_BYTES:])[-_STDERR_BYTES:]

    async def log(self, chunk: bytes) -> None:
        """Writes a chunk of standard error into the log."""
        if self._log is not None:
            await anyio.to_thread.run_sync(self._log.add, chunk)

    def add_stray_line(self, line: bytes) -> None:
        """Adds a line of standard output that is not a message. The first ones are kept: they tell which program it is."""
        if len(self._stray) < _STRAY_LINES:
            self._stray += clean_lines(line[:LONGEST_LINE].decode(errors="replace"))[:1]

    def last_lines(self) -> tuple[str, ...]:
        """Returns the last lines of standard error."""
        return tuple(clean_lines(self._stderr.decode(errors="replace"))[-MOST_LINES:])

    def describe_failure(self) -> str:
        """Returns what the server said about its failure, or an empty text. Text on standard output is named as such."""
        cause = find_cause(clean_lines(self._stderr.decode(errors="replace")))[:LONGEST_LINE]
        if not self._stray:
            return cause
        stray = f"on stdout, where only messages of MCP belong: {self._stray[0]!r}"
        return f"{cause} (and {stray})" if cause else f"({stray})"
