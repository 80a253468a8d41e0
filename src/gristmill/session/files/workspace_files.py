"""The host's hands in a workspace that hostile code writes to: list, read, write, delete, and never anything outside.

Every path is walked by the kernel below an open folder and through no link; only regular files with one name are opened.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from mimetypes import MimeTypes
from pathlib import Path
from typing import Literal

from gristmill.errors import LimitExceeded, Refused
from gristmill.session.files.open_beneath import opened, opened_file, opened_folder, opened_root, translated
from gristmill.session.files.remove_tree import remove_tree
from gristmill.session.files.workspace_paths import DEPTH, CheckedPath, checked
from gristmill.values import dataclass

READ_BYTES = 32 << 20
"""What one read returns at most: more is read in ranges."""
LISTED = 100_000
"""Entries that a listing looks at before it says that there are more."""
_CHUNK = 1 << 20

Kind = Literal["file", "folder", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How much a workspace may hold; counted by apparent size, so that holes in files are no way round."""

    bytes: int
    files: int
    file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One thing in a workspace. ``other`` is what cannot be opened: links, pipes, sockets, devices, files with several names."""

    path: str
    kind: Kind
    size: int
    changed: float
    mime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of entries in the order of their paths; ``next`` is where the following page begins, if there is one."""

    entries: tuple[FileEntry, ...]
    next: str | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What was read: ``body`` from ``offset`` on; ``size`` is that of the whole file."""

    body: bytes
    offset: int
    size: int
    mime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """One workspace. ``uid`` and ``gid`` own what is written when we are root. Blocking: call it in a thread."""

    root: Path
    quota: Quota
    uid: int
    gid: int

    def list(self, *, after: str = "", limit: int = 1_000) -> Listing:
        """Everything in the workspace, sorted, ``limit`` entries that come ``after`` a path."""
        found: list[FileEntry] = []
        truncated = False
        with opened_root(self.root) as root:
            for entry in _walk(root, CheckedPath(())):
                if len(found) >= LISTED:
                    truncated = True
                    break
                found.append(_entry(*entry))
        found = sorted((entry for entry in found if entry.path > after), key=lambda entry: entry.path)
        more = len(found) > limit
        return Listing(entries=tuple(found[:limit]), next=found[limit - 1].path if more else None, truncated=truncated)

    def read(self, path: str, *, offset: int = 0, length: int | None = None) -> Content:
        """A file, or ``length`` bytes of it from ``offset`` on.

        Raises:
            NotFound: there is none.
            Refused: it is no regular file, or the path leads out.
            LimitExceeded: it is too large to be read at once.
        """
        place = checked(path)
        with opened_root(self.root) as root, opened_file(root, place) as descriptor:
            size = os.fstat(descriptor).st_size
            wanted = max(0, size - offset) if length is None else length
            if length is None and wanted > READ_BYTES:
                text = f"{place.shown} has {size:,} bytes, more than {READ_BYTES:,}: read it in ranges (offset, length)"
                raise LimitExceeded(text, limit="read_bytes", value=READ_BYTES)
            with translated(place):
                body = b"".join(_chunks(descriptor, max(0, offset), min(max(0, wanted), READ_BYTES)))
        return Content(body=body, offset=offset, size=size, mime=mime_of(place.shown))

    def write(self, path: str, content: bytes | Iterable[bytes]) -> FileEntry:
        """Put a file there, whole or not at all; folders are made as needed.

        Raises:
            Refused: the path leads out, is odd, or something else than a file is there.
            LimitExceeded: the workspace would hold too much.
        """
        place = checked(path, new=True)
        pieces = (content,) if isinstance(content, bytes) else content
        with opened_root(self.root) as root:
            self._make_folders(root, CheckedPath(place.parts[:-1]))
            with opened_folder(root, CheckedPath(place.parts[:-1])) as folder, translated(place):
                self._check_replaceable(folder, place)
                self._write(folder, place, pieces)
            with opened(root, place, os.O_PATH | os.O_NOFOLLOW) as written:
                return _entry(place, os.fstat(written))

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with everything in it; a link is removed, not followed.

        Raises:
            NotFound: there is nothing.
        """
        place = checked(path)
        if not place.parts:
            raise Refused("the workspace itself is deleted with its session", rule="file.path")
        with opened_root(self.root) as root, opened_folder(root, CheckedPath(place.parts[:-1])) as folder, translated(place):
            os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
            remove_tree(folder, place.parts[-1])

    def usage(self) -> tuple[int, int]:
        """Bytes by apparent size, or on disk where that is more, and how many entries."""
        size = count = 0
        with opened_root(self.root) as root:
            for _, status in _walk(root, CheckedPath(())):
                size, count = size + max(status.st_size, status.st_blocks * 512), count + 1
                if count >= LISTED:
                    break
        return size, count

    def _make_folders(self, root: int, place: CheckedPath) -> None:
        for depth in range(1, len(place.parts) + 1):
            above, name = CheckedPath(place.parts[: depth - 1]), place.parts[depth - 1]
            with opened_folder(root, above) as folder, translated(place):
                try:
                    os.mkdir(name, 0o700, dir_fd=folder)
                except FileExistsError:
                    continue  # if it is a link, the next step finds out
                self._give(folder, name)

    def _give(self, folder: int, name: bytes) -> None:
        """To the user that code runs as."""
        if os.geteuid() == 0:
            os.chown(name, self.uid, self.gid, dir_fd=folder, follow_symlinks=False)

    def _check_replaceable(self, folder: int, place: CheckedPath) -> None:
        try:
            status = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise Refused(f"{place.shown} exists and is no plain file; delete it first", rule="file.kind")

    def _write(self, folder: int, place: CheckedPath, pieces: Iterable[bytes]) -> None:
        draft = b".upload-" + secrets.token_hex(8).encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._fill(file.write, place, pieces)
                file.flush()
                if os.geteuid() == 0:
                    os.fchown(descriptor, self.uid, self.gid)
                os.fsync(descriptor)
            # A rename replaces the name, whatever it has become meanwhile: it never writes through it.
            os.rename(draft, place.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            try:
                os.unlink(draft, dir_fd=folder)
            except OSError:
                pass  # it was renamed, or the code has removed it
            raise

    def _fill(self, write: Callable[[bytes], int], place: CheckedPath, pieces: Iterable[bytes]) -> None:
        used, files = self.usage()
        if files > self.quota.files:  # the draft is counted already
            raise LimitExceeded("the workspace holds too many files", limit="workspace_files", value=self.quota.files)
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > self.quota.file_bytes:
                text = f"{place.shown} is larger than the {self.quota.file_bytes:,} bytes that a file may have"
                raise LimitExceeded(text, limit="file_mb", value=self.quota.file_bytes >> 20)
            if used + size > self.quota.bytes:
                text = f"the workspace is full: {used:,} of {self.quota.bytes:,} bytes are used"
                raise LimitExceeded(text, limit="workspace_mb", value=self.quota.bytes >> 20)
            write(piece)


def disk_usage(root: Path) -> int:
    """What a workspace takes on disk; holes take nothing. Zero when there is none."""
    if not root.is_dir():
        return 0
    with opened_root(root) as folder:
        return sum(status.st_blocks * 512 for _, status in _walk(folder, CheckedPath(())))


def mime_of(path: str) -> str:
    """The type that the name claims. The content may be anything: who serves it must forbid sniffing."""
    return _types().guess_type(path.rpartition("/")[2])[0] or "application/octet-stream"


@lru_cache(maxsize=1)
def _types() -> MimeTypes:
    # Python's own table only: what the host has in /etc must not change an answer.
    return MimeTypes()


def _entry(place: CheckedPath, status: os.stat_result) -> FileEntry:
    kind: Kind = "folder" if stat.S_ISDIR(status.st_mode) else "other"
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        kind = "file"
    mime = {"folder": "inode/directory", "other": "inode/other"}.get(kind) or mime_of(place.shown)
    return FileEntry(path=place.shown, kind=kind, size=status.st_size, changed=status.st_mtime, mime=mime)


def _walk(folder: int, place: CheckedPath) -> Iterator[tuple[CheckedPath, os.stat_result]]:
    """Every entry below, folders before what is in them; by descriptors, so that no swap leads elsewhere."""
    try:
        names = sorted(map(os.fsencode, os.listdir(folder)))
    except OSError:
        return  # locked by its owner: listed, not entered
    for name in names:
        here = CheckedPath((*place.parts, name))
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            yield here, status
            if not stat.S_ISDIR(status.st_mode) or len(here.parts) >= DEPTH:
                continue
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue  # removed, locked or exchanged meanwhile
        try:
            yield from _walk(inner, here)
        finally:
            os.close(inner)


def _chunks(descriptor: int, offset: int, length: int) -> Iterator[bytes]:
    while length > 0:
        chunk = os.pread(descriptor, min(length, _CHUNK), offset)
        if not chunk:
            return
        yield chunk
        offset, length = offset + len(chunk), length - len(chunk)
