"""Keeps what a server's program writes to standard error in a file, capped in size and in speed, without secrets."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gristmill.upstream.stdio.failure_causes import LONGEST_LINE

BURST_BYTES = 262_144
BYTES_PER_SECOND = 16_384
"""A program that prints without end must not keep the disk busy: what exceeds this is counted and dropped."""


class ServerLog:
    """The log of one server. Its methods block: call them in a thread, one at a time."""

    def __init__(self, path: Path, most_bytes: int, mask: Callable[[str], str], clock: Callable[[], float] = time.time) -> None:
        """Keeps ``most_bytes`` in two files, of which the older one is dropped when the newer one is full."""
        self._path, self._half, self._mask, self._clock = path, most_bytes // 2, mask, clock
        self._rest = b""
        self._allowance, self._filled = float(BURST_BYTES), clock()
        self._dropped = 0

    def note(self, words: str) -> None:
        """Writes a line of ours, such as that the program was started."""
        self._write_lines([f"-- {words}"])

    def add(self, chunk: bytes) -> None:
        """Writes the whole lines of ``chunk``; the rest is kept for the next one, up to the longest line."""
        now = self._clock()
        self._allowance = min(BURST_BYTES, self._allowance + max(0.0, now - self._filled) * BYTES_PER_SECOND)
        self._filled = now
        if len(chunk) > self._allowance:
            self._dropped += len(chunk)
            return
        self._allowance -= len(chunk)
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[-LONGEST_LINE:]
        dropped, self._dropped = self._dropped, 0
        told = [f"-- {dropped:,} bytes were printed too fast and are not kept"] if dropped else []
        self._write_lines([*told, *(line[-8 * LONGEST_LINE :].decode(errors="replace").rstrip() for line in lines)])

    def _write_lines(self, lines: list[str]) -> None:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self._clock()))
        text = "".join(f"{when} {self._mask(line)}\n" for line in lines if line)
        if not text:
            return
        with suppress(OSError):  # a full disk must not end the connection of a server
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.write(descriptor, text.encode("utf-8", "replace")[-self._half :])
                is_full = os.fstat(descriptor).st_size > self._half
            finally:
                os.close(descriptor)
            if is_full:
                self._path.replace(name_older_log(self._path))


def name_older_log(path: Path) -> Path:
    """Returns the path of the file that holds what was written before ``path`` was begun."""
    return path.with_suffix(".old.log")


def read_log(path: Path, most_lines: int) -> list[str]:
    """Returns the last lines of a log."""
    lines: list[str] = []
    for file in (name_older_log(path), path):
        with suppress(OSError):
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-most_lines:] if most_lines else []
