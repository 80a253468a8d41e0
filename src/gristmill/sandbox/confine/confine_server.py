"""Confines a tool server's program: makes the command that confines itself and becomes the server, and a folder of its own.

Nothing here changes this process: the command runs `linux/confined/confined_launcher.py`, which reads the profile made here.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from gristmill.errors import ConfigError, SandboxUnavailable
from gristmill.sandbox.confine.program_needs import DEVICES, KERNEL, SETTINGS, SYSTEM, find_needed_files
from gristmill.sandbox.confine.program_user import ProgramUser, choose_user
from gristmill.sandbox.jail_layout import find_interpreter
from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.confined.confined_profile import ConfinedProfile
from gristmill.sandbox.linux.seccomp import syscall_filters as filters

LAUNCHER = Path(__file__).parents[1] / "linux" / "confined" / "confined_launcher.py"
FOLDER_PREFIX = "gristmill-server-"


class Confinement(Struct, frozen=True, kw_only=True):
    """What one server's program may use; ``hidden`` are folders that no server may ever see."""

    server: str
    program: str
    path: str
    cwd: Path
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False
    user: str | None = None
    hidden: tuple[Path, ...] = ()


@contextmanager
def open_launcher(wanted: Confinement) -> Generator[tuple[tuple[str, ...], Path]]:
    """Yields the command prefix that confines the command after it, and the folder that is the server's own until the block ends.

    Raises:
        ConfigError: a path does not exist, would open a hidden folder, or could be moved by the server.
        SandboxUnavailable: this kind of machine cannot confine a server.
    """
    if sys.platform != "linux" or kernel.MACHINE not in filters.ARCHITECTURES:
        raise SandboxUnavailable(f"{sys.platform} on {kernel.MACHINE} cannot confine a server. {_describe_remedy(wanted.server)}")
    asked = [*_resolve_asked_paths(wanted, "read", "execute"), *_resolve_asked_paths(wanted, "write", "own")]
    user = choose_user(wanted.server, wanted.user, (*((name, "execute") for name in _list_program_files(wanted)), *asked))
    with _open_own_folder(user) as folder:
        profile = ConfinedProfile(
            rules=tuple(dict.fromkeys((*_list_common_rules(wanted), *asked, (str(folder), "own")))),
            network=wanted.network,
            filter=filters.build_confined_filter(network=wanted.network),
            remedy=_describe_remedy(wanted.server),
            user=(user.uid, user.gid) if user else None,
        )
        yield (find_interpreter(), "-I", "-S", "-B", "-X", "utf8", str(LAUNCHER), *profile.words()), folder


def _describe_remedy(server: str) -> str:
    return (
        "Confining a server needs Linux 6.12 or newer with Landlock enabled (boot parameter `lsm=landlock,...`) and seccomp, "
        f"and a container that allows both; or remove [servers.{server}.confine] to start it with your rights."
    )


def _resolve_asked_paths(wanted: Confinement, field: str, access: str) -> Iterator[tuple[str, str]]:
    named = f"servers.{wanted.server}.confine.{field}"
    for text in getattr(wanted, field):
        try:
            written = wanted.cwd / Path(text).expanduser()
            path = written.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ConfigError(f"{named}: {text}: {reason}; make it, or take it off the list") from None
        for hidden in map(_resolve_links, wanted.hidden):
            if path in hidden.parents or _lies_in(path, hidden):
                raise ConfigError(
                    f"{named}: {text} would open Gristmill's own folder {hidden}, which no server may see; "
                    "name folders beside it, or keep it elsewhere with `path` under [store]"
                )
        for root in _list_writable_folders(wanted):
            # The server controls links in a folder that it may write: followed, they could widen its rights at the next start.
            if not _lies_in(path, root) and any(_lies_in(_resolve_links(above), root) for above in written.parents):
                raise ConfigError(f"{named}: {text} leads out of {root}, which the server may change; name {path} itself")
        yield str(path), access


def _list_writable_folders(wanted: Confinement) -> list[Path]:
    return [_resolve_links(wanted.cwd / Path(text).expanduser()) for text in wanted.write]


def _lies_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _list_program_files(wanted: Confinement) -> tuple[str, ...]:
    """Lists the files that the program consists of. The program must not be able to change them: they decide what it may use."""
    found = find_needed_files(wanted.program, wanted.path)
    for root in _list_writable_folders(wanted):
        if own := next((name for name in found if _lies_in(_resolve_links(Path(name)), root)), None):
            raise ConfigError(
                f"servers.{wanted.server}.confine.write: {root} holds {own}, a part of the server's own program; "
                "name the folders in it that the server works in"
            )
    return found


def _list_common_rules(wanted: Confinement) -> Iterator[tuple[str, str]]:
    """Lists the paths that every program needs: never a home folder, never a hidden one, even inside an open tree."""
    closed = frozenset(map(_resolve_links, (*wanted.hidden, Path.home())))
    for name in dict.fromkeys((*SYSTEM, *_list_program_files(wanted))):
        yield from ((str(path), "execute") for path in _exclude_closed(_resolve_links(Path(name)), closed))
    yield from ((name, "read") for name in (*SETTINGS, *KERNEL) if os.path.exists(name))
    yield from ((name, "device") for name in DEVICES if os.path.exists(name))


def _exclude_closed(path: Path, closed: frozenset[Path]) -> Iterator[Path]:
    """Yields ``path``, or, if it contains closed folders, everything in it except those."""
    if path in closed or not path.exists():
        return
    if not any(path in folder.parents for folder in closed):
        yield path
        return
    with suppress(OSError):
        for child in sorted(path.iterdir()):
            yield from _exclude_closed(_resolve_links(child), closed)


def _resolve_links(path: Path) -> Path:
    return Path(os.path.realpath(path))


@contextmanager
def _open_own_folder(user: ProgramUser | None) -> Generator[Path]:
    """Makes a new folder of ``user``, that is removed afterwards; first removes the folders of gateways that were killed."""
    _remove_abandoned_folders(Path(tempfile.gettempdir()))
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="gristmill-new-")))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = made.with_name(FOLDER_PREFIX + made.name.removeprefix("gristmill-new-"))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # the kernel releases the lock when this process ends, however it ends
        folder = made.rename(folder)  # only now: a folder with such a name and without a lock counts as abandoned
        yield _make_home(folder, user) if user else folder
    finally:
        _remove_folder(folder)
        os.close(handle)


def _make_home(folder: Path, user: ProgramUser) -> Path:
    """Makes a folder of the user within ``folder``, which stays ours: a folder of others is not swept."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, user.uid, user.gid)
    folder.chmod(0o711)
    return home


def _remove_abandoned_folders(temporary: Path) -> None:
    for folder in temporary.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(handle).st_uid == os.geteuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove_folder(folder)
            finally:
                os.close(handle)


def _remove_folder(folder: Path) -> None:
    with suppress(RecursionError):  # a server may have nested folders deeper than rmtree can follow
        shutil.rmtree(folder, ignore_errors=True)
