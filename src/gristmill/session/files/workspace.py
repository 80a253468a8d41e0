"""The folders that belong to sessions. Names are made safe here; nothing below the root can lead out of it.

A folder ``NAME`` has a file ``NAME.owner`` beside it, where code cannot reach it: the whole name of its session.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from gristmill.errors import Refused, StoreUnavailable
from gristmill.session.files.remove_tree import remove_tree

NAME_LENGTH = 128
_GENERATION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FOLDER = re.compile(rf".*-({_GENERATION.pattern})(\.shares)?")
_SHARES = ".shares"
"""What the name of a pointer ends with, by which a branch finds the folder that it shares."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


class Workspaces(Struct, frozen=True, kw_only=True):
    """The folders of all sessions under one root; ``uid`` and ``gid`` own them when we are root."""

    root: Path
    uid: int
    gid: int

    def make_folder(self, session: str) -> Path:
        """Returns the folder of ``session``, and creates it if needed.

        Raises:
            Refused: the name is not allowed, the folder belongs to another session, or it is a link.
            StoreUnavailable: the folder cannot be made or opened.
        """
        name = make_folder_name(session)
        try:
            self._check_owner(name, session)
            return self._make_folder(name, session)
        except OSError as error:
            raise StoreUnavailable(f"the workspace of {session!r} cannot be opened: {error.strerror}") from None

    def _make_folder(self, name: str, session: str) -> Path:
        folder = self._follow_share(self.root / name)
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
        """Lets ``other`` work in the folder of ``session`` from now on."""
        folder, name = self.make_folder(session), make_folder_name(other)
        self._check_owner(name, other)
        (self.root / f"{name}{_SHARES}").write_text(folder.name, encoding="ascii")

    def remove(self, session: str) -> None:
        """Removes the folder of ``session`` with its content.

        If branches share the folder, it is renamed for the first of them instead.
        """
        self._remove_folder(make_folder_name(session))

    def list_generations(self) -> dict[str, list[str]]:
        """Returns the folders, and the pointers to folders, that belong to a generation of a session, by the generation."""
        found: dict[str, list[str]] = {}
        for entry in os.listdir(self.root) if self.root.is_dir() else ():
            if bound := _FOLDER.fullmatch(entry):
                found.setdefault(bound[1], []).append(entry)
        return found

    def remove_generations(self, generations: Mapping[str, Sequence[str]]) -> None:
        """Removes what ``list_generations`` has listed; pointers first, so that no folder is left to one of them."""
        for name in sorted({entry.removesuffix(_SHARES) for entries in generations.values() for entry in entries}):
            if (self.root / f"{name}{_SHARES}").exists():
                self._remove_folder(name)
        for name in sorted({entry for entries in generations.values() for entry in entries if not entry.endswith(_SHARES)}):
            self._remove_folder(name)

    def _remove_folder(self, name: str) -> None:
        try:
            self._remove_or_bequeath(name)
        finally:
            (self.root / f"{name}.owner").unlink(missing_ok=True)

    def _remove_or_bequeath(self, name: str) -> None:
        pointer = self.root / f"{name}{_SHARES}"
        if pointer.exists():
            pointer.unlink(missing_ok=True)  # the files belong to the session that it was branched from
            return
        heirs = [each for each in sorted(self.root.glob(f"*{_SHARES}")) if each.read_text(encoding="ascii") == name]
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

    def folder_path(self, session: str) -> Path:
        """Returns the path of the folder of ``session``, which may not exist yet."""
        return self._follow_share(self.root / make_folder_name(session))

    def list_sharers(self, session: str) -> tuple[str, ...]:
        """Returns the names of the folder that ``session`` works in and of all sessions that were branched into it."""
        home = self.folder_path(session).name
        branches = [each.stem for each in self.root.glob(f"*{_SHARES}") if self._follow_share(each.with_suffix("")).name == home]
        return home, *sorted(set(branches) - {home})

    def _check_owner(self, name: str, session: str) -> None:
        """Checks that the folder ``name`` was made for ``session``; a folder without an owner is claimed for it."""
        owner, expected = os.fspath(self.root / f"{name}.owner"), session.encode("utf-8", "surrogatepass")
        try:
            file = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            claim_folder(self.root, name, session)
            return
        try:
            found = os.read(file, len(expected) + 1)
        finally:
            os.close(file)
        if found != expected:
            raise Refused(f"the workspace of {session!r} belongs to another session", rule="workspace.owner")

    def _follow_share(self, folder: Path) -> Path:
        try:
            return self.root / (self.root / f"{folder.name}{_SHARES}").read_text(encoding="ascii")
        except FileNotFoundError:
            return folder


def claim_folder(root: Path, name: str, session: str) -> None:
    """Writes the file that names the owner of a folder, whole or not at all; a file that is there already stays."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = root / f".{secrets.token_hex(16)}.draft"
    try:
        draft.write_bytes(session.encode("utf-8", "surrogatepass"))
        os.link(draft, root / f"{name}.owner")
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def is_generation(text: str) -> bool:
    """Returns whether ``text`` is the generation of a session."""
    return _GENERATION.fullmatch(text) is not None


def is_folder_of_generation(name: str) -> bool:
    """Returns whether ``name`` is the name of a folder that belongs to a generation of a session, or of a pointer to one."""
    return _FOLDER.fullmatch(name) is not None


def make_folder_name(session: str) -> str:
    """Returns a file name for any session name: readable where that is safe, and different for any two names.

    The whole digest is in it: two names with 48 equal bits can be found in minutes.

    Raises:
        Refused: the name is empty, too long, or has control characters.
    """
    name, _, generation = session.rpartition("~")
    is_bound = bool(name) and is_generation(generation)
    if not session or len(name if is_bound else session) > NAME_LENGTH or not session.isprintable():
        raise Refused(f"a session's name has 1 to {NAME_LENGTH} printable characters", rule="session.name")
    if is_bound:
        return f"{name if _PLAIN.fullmatch(name) else 'session'}-{generation}"  # two generations never share a folder
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
    readable = session if _PLAIN.fullmatch(session) else "session"
    return f"{readable}-{digest}"
