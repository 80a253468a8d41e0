"""The host's access to a workspace that hostile code writes to: list, read, write, delete, and never anything outside.

Every path is resolved by the kernel below an open folder and through no link; only regular files with one name are opened.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from mimetypes import MimeTypes
from pathlib import Path
from typing import Literal

from msgspec import Struct

from gristmill.errors import LimitExceeded, Refused
from gristmill.session.files.open_beneath import open_file, open_folder, open_path, open_root, translate_os_errors
from gristmill.session.files.remove_tree import remove_tree
from gristmill.session.files.workspace_paths import MOST_PARTS, CheckedPath, check_path

READ_BYTES = 32 << 20
"""How many bytes one read returns at most; larger files are read in ranges."""
MOST_LISTED_ENTRIES = 100_000
"""How many entries a listing looks at before it reports that there are more."""
_CHUNK = 1 << 20

Kind = Literal["file", "folder", "other"]


class FileQuota(Struct, frozen=True, kw_only=True):
    """How much a workspace may hold. Apparent sizes count, so that sparse files cannot get around it."""

    bytes: int
    files: int
    file_bytes: int


class FileEntry(Struct, frozen=True, kw_only=True):
    """One entry of a workspace.

    ``other`` is everything that is never opened: links, pipes, sockets, devices, files with several names.
    """

    path: str
    kind: Kind
    size: int
    changed: float
    mime: str


class FileListing(Struct, frozen=True, kw_only=True):
    """A page of entries, sorted by path. ``next`` is the path after which the following page starts, if there is one."""

    entries: tuple[FileEntry, ...]
    next: str | None = None
    truncated: bool = False


class FileContent(Struct, frozen=True, kw_only=True):
    """The result of a read: ``body`` starts at ``offset``; ``size`` is the size of the whole file."""

    body: bytes
    offset: int
    size: int
    mime: str


class WorkspaceFiles(Struct, frozen=True, kw_only=True):
    """One workspace. ``uid`` and ``gid`` own the files we write when we are root. Blocking: call it in a thread."""

    root: Path
    quota: FileQuota
    uid: int
    gid: int

    def list(self, *, after: str = "", limit: int = 1_000) -> FileListing:
        """Returns at most ``limit`` entries of the workspace whose paths sort ``after`` the given one."""
        found: list[FileEntry] = []
        truncated = False
        with open_root(self.root) as root:
            for entry in _walk_tree(root, CheckedPath(())):
                if len(found) >= MOST_LISTED_ENTRIES:
                    truncated = True
                    break
                found.append(_make_entry(*entry))
        found = sorted((entry for entry in found if entry.path > after), key=lambda entry: entry.path)
        more = len(found) > limit
        return FileListing(entries=tuple(found[:limit]), next=found[limit - 1].path if more else None, truncated=truncated)

    def read(self, path: str, *, offset: int = 0, length: int | None = None) -> FileContent:
        """Reads a file, or ``length`` bytes of it from ``offset`` on.

        Raises:
            NotFound: there is no such file.
            Refused: it is not a regular file, or the path leads out of the workspace.
            LimitExceeded: it is too large for one read.
        """
        place = check_path(path)
        with open_root(self.root) as root, open_file(root, place) as descriptor:
            size = os.fstat(descriptor).st_size
            wanted = max(0, size - offset) if length is None else length
            if length is None and wanted > READ_BYTES:
                text = f"{place.printable} has {size:,} bytes, more than {READ_BYTES:,}: read it in ranges (offset, length)"
                raise LimitExceeded(text, limit="read_bytes", value=READ_BYTES)
            with translate_os_errors(place):
                body = b"".join(_read_chunks(descriptor, max(0, offset), min(max(0, wanted), READ_BYTES)))
        return FileContent(body=body, offset=offset, size=size, mime=guess_mime_type(place.printable))

    def write(self, path: str, content: bytes | Iterable[bytes]) -> FileEntry:
        """Writes a file atomically; missing folders are created.

        Raises:
            Refused: the path leads out, has unsafe characters, or something that is not a file exists there.
            LimitExceeded: the workspace would hold too much.
        """
        place = check_path(path, new=True)
        pieces = (content,) if isinstance(content, bytes) else content
        with open_root(self.root) as root:
            self._make_folders(root, CheckedPath(place.parts[:-1]))
            with open_folder(root, CheckedPath(place.parts[:-1])) as folder, translate_os_errors(place):
                self._check_replaceable(folder, place)
                self._write_file(folder, place, pieces)
            with open_path(root, place, os.O_PATH | os.O_NOFOLLOW) as written:
                return _make_entry(place, os.fstat(written))

    def delete(self, path: str) -> None:
        """Removes a file, or a folder with its content; a link is removed, not followed.

        Raises:
            NotFound: there is nothing at that path.
        """
        place = check_path(path)
        if not place.parts:
            raise Refused("the workspace itself is deleted with its session", rule="file.path")
        with open_root(self.root) as root, open_folder(root, CheckedPath(place.parts[:-1])) as folder, translate_os_errors(place):
            os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
            remove_tree(folder, place.parts[-1])

    def measure_usage(self) -> tuple[int, int]:
        """Returns the bytes (the larger of apparent size and size on disk, per entry) and the number of entries."""
        size = count = 0
        with open_root(self.root) as root:
            for _, status in _walk_tree(root, CheckedPath(())):
                size, count = size + max(status.st_size, status.st_blocks * 512), count + 1
                if count >= MOST_LISTED_ENTRIES:
                    break
        return size, count

    def _make_folders(self, root: int, place: CheckedPath) -> None:
        for depth in range(1, len(place.parts) + 1):
            above, name = CheckedPath(place.parts[: depth - 1]), place.parts[depth - 1]
            with open_folder(root, above) as folder, translate_os_errors(place):
                try:
                    os.mkdir(name, 0o700, dir_fd=folder)
                except FileExistsError:
                    continue  # if it is a link, the next open refuses it
                self._set_owner(folder, name)

    def _set_owner(self, folder: int, name: bytes) -> None:
        """Makes the user that code runs as the owner."""
        if os.geteuid() == 0:
            os.chown(name, self.uid, self.gid, dir_fd=folder, follow_symlinks=False)

    def _check_replaceable(self, folder: int, place: CheckedPath) -> None:
        try:
            status = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise Refused(f"{place.printable} exists and is not a plain file; delete it first", rule="file.kind")

    def _write_file(self, folder: int, place: CheckedPath, pieces: Iterable[bytes]) -> None:
        draft = b".upload-" + secrets.token_hex(8).encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._write_pieces(file.write, place, pieces)
                file.flush()
                if os.geteuid() == 0:
                    os.fchown(descriptor, self.uid, self.gid)
                os.fsync(descriptor)
            # A rename replaces the name itself: if it has become a link meanwhile, nothing is written through it.
            os.rename(draft, place.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            try:
                os.unlink(draft, dir_fd=folder)
            except OSError:
                pass  # it was renamed, or the sandboxed code has removed it
            raise

    def _write_pieces(self, write: Callable[[bytes], int], place: CheckedPath, pieces: Iterable[bytes]) -> None:
        used, files = self.measure_usage()
        if files > self.quota.files:  # the temporary file is counted already
            raise LimitExceeded("the workspace holds too many files", limit="workspace_files", value=self.quota.files)
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > self.quota.file_bytes:
                text = f"{place.printable} is larger than the {self.quota.file_bytes:,} bytes that a file may have"
                raise LimitExceeded(text, limit="file_mb", value=self.quota.file_bytes >> 20)
            if used + size > self.quota.bytes:
                text = f"the workspace is full: {used:,} of {self.quota.bytes:,} bytes are used"
                raise LimitExceeded(text, limit="workspace_mb", value=self.quota.bytes >> 20)
            write(piece)


def measure_disk_usage(root: Path) -> int:
    """Returns the bytes that a workspace takes on disk (holes take none); zero if there is no workspace."""
    if not root.is_dir():
        return 0
    with open_root(root) as folder:
        return sum(status.st_blocks * 512 for _, status in _walk_tree(folder, CheckedPath(())))


def guess_mime_type(path: str) -> str:
    """Returns the media type that the name suggests. The content may be anything: a server of it must forbid sniffing."""
    return _get_mime_types().guess_type(path.rpartition("/")[2])[0] or "application/octet-stream"


@lru_cache(maxsize=1)
def _get_mime_types() -> MimeTypes:
    # Python's own table only: files in the host's /etc must not change an answer.
    return MimeTypes()


def _make_entry(place: CheckedPath, status: os.stat_result) -> FileEntry:
    kind: Kind = "folder" if stat.S_ISDIR(status.st_mode) else "other"
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        kind = "file"
    mime = {"folder": "inode/directory", "other": "inode/other"}.get(kind) or guess_mime_type(place.printable)
    return FileEntry(path=place.printable, kind=kind, size=status.st_size, changed=status.st_mtime, mime=mime)


def _walk_tree(folder: int, place: CheckedPath) -> Iterator[tuple[CheckedPath, os.stat_result]]:
    """Yields every entry below, folders before their content.

    It walks by descriptors, so that a swapped folder cannot lead elsewhere.
    """
    try:
        names = sorted(map(os.fsencode, os.listdir(folder)))
    except OSError:
        return  # its mode denies access: the folder is listed, but not entered
    for name in names:
        here = CheckedPath((*place.parts, name))
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            yield here, status
            if not stat.S_ISDIR(status.st_mode) or len(here.parts) >= MOST_PARTS:
                continue
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue  # removed, locked or replaced meanwhile
        try:
            yield from _walk_tree(inner, here)
        finally:
            os.close(inner)


def _read_chunks(descriptor: int, offset: int, length: int) -> Iterator[bytes]:
    while length > 0:
        chunk = os.pread(descriptor, min(length, _CHUNK), offset)
        if not chunk:
            return
        yield chunk
        offset, length = offset + len(chunk), length - len(chunk)
