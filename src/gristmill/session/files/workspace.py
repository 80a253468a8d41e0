"""The folder that belongs to a session. Names are made safe here; nothing below the root is ever followed out of it."""

import hashlib
import os
import re
from pathlib import Path

from gristmill.errors import Refused
from gristmill.session.files.remove_tree import remove_tree
from gristmill.values import dataclass

NAME_LENGTH = 128
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """All sessions' folders under one root; ``uid`` and ``gid`` own them when we are root."""

    root: Path
    uid: int
    gid: int

    def of(self, session: str) -> Path:
        """The folder of ``session``, made if need be.

        Raises:
            Refused: the name cannot be one.
        """
        folder = self._shared(self.root / folder_name(session))
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            if folder.is_symlink():
                raise Refused(f"the workspace of {session!r} is a link, not a folder", rule="workspace.link") from None
            return folder
        if os.geteuid() == 0:
            os.chown(folder, self.uid, self.gid)
        return folder

    def share(self, session: str, other: str) -> None:
        """Let ``other`` work in the folder of ``session`` from now on."""
        (self.root / f"{folder_name(other)}.shares").write_text(self.of(session).name, encoding="ascii")

    def remove(self, session: str) -> None:
        """Remove the folder of ``session`` with everything in it; branches that work in it keep it, under their own name."""
        name = folder_name(session)
        pointer = self.root / f"{name}.shares"
        if pointer.exists():
            pointer.unlink(missing_ok=True)  # the files are its origin's
            return
        heirs = [each for each in sorted(self.root.glob("*.shares")) if each.read_text(encoding="ascii") == name]
        if heirs and (self.root / name).exists():
            (self.root / name).rename(self.root / heirs[0].stem)
            heirs[0].unlink()
            for other in heirs[1:]:
                other.write_text(heirs[0].stem, encoding="ascii")
            return
        if (self.root / name).exists():
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                remove_tree(root, name.encode("ascii"))
            finally:
                os.close(root)

    def path(self, session: str) -> Path:
        """Where the folder of ``session`` is, or would be."""
        return self._shared(self.root / folder_name(session))

    def _shared(self, folder: Path) -> Path:
        try:
            return self.root / (self.root / f"{folder.name}.shares").read_text(encoding="ascii")
        except FileNotFoundError:
            return folder


def folder_name(session: str) -> str:
    """A file name for any session name: readable where that is safe, and never the same for two names.

    Raises:
        Refused: it is empty, too long, or holds control characters.
    """
    if not session or len(session) > NAME_LENGTH or not session.isprintable():
        raise Refused(f"a session's name has 1 to {NAME_LENGTH} printable characters", rule="session.name")
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = session if _PLAIN.fullmatch(session) else "session"
    return f"{readable}-{digest}"
