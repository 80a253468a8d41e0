"""Renames the folders of sessions that early versions named by 48 bits of a hash, which two tenants could share."""

import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from gristmill.session.files.workspace import claim_folder, is_folder_of_generation, make_folder_name

_DIGEST, _SHORT_DIGEST = 64, 12
_OLD_NAME = re.compile(rf"(?:[a-z0-9_-]+)-[0-9a-f]{{{_SHORT_DIGEST}}}(?:\.shares)?")
log = logging.getLogger(__name__)


def has_old_folders(root: Path) -> bool:
    """Returns whether a folder below ``root`` has a name of an early version."""
    try:
        return any(_OLD_NAME.fullmatch(name) and not is_folder_of_generation(name) for name in os.listdir(root))
    except (FileNotFoundError, NotADirectoryError):
        return False


def rename_old_folders(root: Path, sessions: Iterable[str]) -> None:
    """Gives the folder of each session its present name. A folder that two sessions share is left to neither of them.

    Another process may do the same at the same time: each folder is moved once.
    """
    names = _match_names(sessions)
    for old, session in names.items():
        new = make_folder_name(session)
        if (root / old).is_dir() and not (root / old).is_symlink() and not (root / new).exists():
            claim_folder(root, new, session)
            _move(root / old, root / new)
        pointer = root / f"{old}.shares"
        if pointer.exists():
            claim_folder(root, new, session)
            _rename_share(pointer, root / f"{new}.shares", names)


def _match_names(sessions: Iterable[str]) -> Mapping[str, str]:
    """Returns the session of each old name that only one session has."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for session in sessions:
        found[make_folder_name(session)[: _SHORT_DIGEST - _DIGEST]].add(session)
    for old, sharing in found.items():
        if len(sharing) > 1:
            log.warning(
                "%d sessions shared the folder %s: it is left as it is, and each begins with an empty one", len(sharing), old
            )
    return {old: next(iter(sharing)) for old, sharing in found.items() if len(sharing) == 1}


def _rename_share(pointer: Path, target: Path, names: Mapping[str, str]) -> None:
    """Moves the file that names the folder a branch works in, and writes that folder's present name into it."""
    try:
        shared = pointer.read_text(encoding="ascii")
    except FileNotFoundError:
        return
    if shared in names:
        target.write_text(make_folder_name(names[shared]), encoding="ascii")
        pointer.unlink(missing_ok=True)


def _move(old: Path, new: Path) -> None:
    try:
        old.rename(new)
    except FileNotFoundError:
        return
