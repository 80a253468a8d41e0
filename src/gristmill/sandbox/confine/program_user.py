"""Chooses the user that a confined program runs as when the gateway runs as root: files of root are then not its own."""

import logging
import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from gristmill.errors import ConfigError

NOBODY = "nobody"
log = logging.getLogger(__name__)


class ProgramUser(Struct, frozen=True, kw_only=True):
    """A user, and the group of the user."""

    uid: int
    gid: int


def choose_user(server: str, name: str | None, paths: Iterable[tuple[str, str]]) -> ProgramUser | None:
    """Returns the user to become, or None to stay who we are. ``paths`` are what the program needs, each with its access.

    Without a name it is ``nobody`` if that user can use all of ``paths``; otherwise the program stays root, without privileges.

    Raises:
        ConfigError: there is no such user, only root could become that user, or the user cannot use a path.
    """
    key = f"servers.{server}.confine.user"
    found = _find_user(key, name or NOBODY)
    if found is None or found.uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        if name is None:
            return None
        raise ConfigError(f"{key}: only a gateway that runs as root can start a program as {name}")
    closed = find_closed_path(paths, found)
    if closed is None:
        return found
    if name is not None:
        raise ConfigError(f"{key}: {name} cannot use {closed}; open it to that user, or choose another user")
    log.warning(
        'the server %s runs as root, without privileges, since %s cannot use %s; open it to that user, or set %s = "root"',
        server, NOBODY, closed, key,
    )  # fmt: skip
    return None


def _find_user(key: str, name: str) -> ProgramUser | None:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        if name == NOBODY:
            return None
        raise ConfigError(f"{key}: there is no user {name!r} on this machine") from None
    return ProgramUser(uid=found.pw_uid, gid=found.pw_gid)


def find_closed_path(paths: Iterable[tuple[str, str]], user: ProgramUser) -> str | None:
    """Returns the first path that modes keep from ``user``: to pass through, to read, or with the access ``own`` to change."""
    for path, access in paths:
        for folder in reversed(Path(path).parents):
            if not _may(user, str(folder), 0o1):
                return str(folder)
        wanted = (0o4 | (0o2 if access == "own" else 0)) | (0o1 if os.path.isdir(path) else 0)
        if not _may(user, path, wanted):
            return path
    return None


def _may(user: ProgramUser, path: str, wanted: int) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    bits = mode >> 6 if status.st_uid == user.uid else mode >> 3 if status.st_gid == user.gid else mode
    return bits & wanted == wanted
