"""Walls around a tool server's program, as a command that puts them up and a folder of its own. Above `linux/confined.py`.

Nothing here changes this process: the launcher confines itself, and becomes the server.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gristmill.errors import ConfigError, SandboxUnavailable
from gristmill.sandbox.confine.program_needs import DEVICES, KERNEL, SETTINGS, SYSTEM, needed
from gristmill.sandbox.jail_layout import executable
from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.confined.confined_profile import Profile
from gristmill.sandbox.linux.seccomp import syscall_filters as filters
from gristmill.values import dataclass

LAUNCHER = Path(__file__).parents[1] / "linux" / "confined" / "confined_launcher.py"
PREFIX = "gristmill-server-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What one server's program may use; ``hidden`` are folders that no server may ever see."""

    server: str
    program: str
    path: str
    cwd: Path
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False
    hidden: tuple[Path, ...] = ()


@contextmanager
def launcher(wanted: Confinement) -> Generator[tuple[tuple[str, ...], Path]]:
    """The command that becomes what follows it, within walls, and the folder that is the server's own until the block ends.

    Raises:
        ConfigError: a path is not there, would open what is hidden, or could be moved by the server.
        SandboxUnavailable: not on this kind of machine.
    """
    if sys.platform != "linux" or kernel.MACHINE not in filters.ARCHITECTURES:
        raise SandboxUnavailable(f"{sys.platform} on {kernel.MACHINE} cannot confine a server. {_remedy(wanted.server)}")
    asked = [*_asked(wanted, "read", "execute"), *_asked(wanted, "write", "own")]
    with _own_folder() as folder:
        profile = Profile(
            rules=tuple(dict.fromkeys((*_always(wanted), *asked, (str(folder), "own")))),
            network=wanted.network,
            filter=filters.confined_filter(network=wanted.network),
            remedy=_remedy(wanted.server),
        )
        yield (executable(), "-I", "-S", "-B", "-X", "utf8", str(LAUNCHER), *profile.words()), folder


def _remedy(server: str) -> str:
    return (
        "Confining a server needs Linux 6.12 or newer with Landlock enabled (boot parameter `lsm=landlock,...`) and seccomp, "
        f"and a container that allows both; or remove [servers.{server}.confine] to start it with your rights."
    )


def _asked(wanted: Confinement, field: str, access: str) -> Iterator[tuple[str, str]]:
    named = f"servers.{wanted.server}.confine.{field}"
    for text in getattr(wanted, field):
        try:
            written = wanted.cwd / Path(text).expanduser()
            path = written.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ConfigError(f"{named}: {text}: {reason}; make it, or take it off the list") from None
        for hidden in map(_real, wanted.hidden):
            if path in hidden.parents or _lies_in(path, hidden):
                raise ConfigError(
                    f"{named}: {text} would open Gristmill's own folder {hidden}, which no server may see; "
                    "name folders beside it, or keep it elsewhere with `path` under [store]"
                )
        for root in _writable(wanted):
            # A link in a folder that the server writes is the server's: followed, it would move the walls at the next start.
            if not _lies_in(path, root) and any(_lies_in(_real(above), root) for above in written.parents):
                raise ConfigError(f"{named}: {text} leads out of {root}, which the server may change; name {path} itself")
        yield str(path), access


def _writable(wanted: Confinement) -> list[Path]:
    return [_real(wanted.cwd / Path(text).expanduser()) for text in wanted.write]


def _lies_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _program(wanted: Confinement) -> tuple[str, ...]:
    """The files that the program consists of, none of which it may be able to change: they say what is open to it."""
    found = needed(wanted.program, wanted.path)
    for root in _writable(wanted):
        if own := next((name for name in found if _lies_in(_real(Path(name)), root)), None):
            raise ConfigError(
                f"servers.{wanted.server}.confine.write: {root} holds {own}, a part of the server's own program; "
                "name the folders in it that the server works in"
            )
    return found


def _always(wanted: Confinement) -> Iterator[tuple[str, str]]:
    """What every program needs: never a home, never what is hidden, even where it lies in a tree that is open."""
    closed = frozenset(map(_real, (*wanted.hidden, Path.home())))
    for name in dict.fromkeys((*SYSTEM, *_program(wanted))):
        yield from ((str(path), "execute") for path in _without(_real(Path(name)), closed))
    yield from ((name, "read") for name in (*SETTINGS, *KERNEL) if os.path.exists(name))
    yield from ((name, "device") for name in DEVICES if os.path.exists(name))


def _without(path: Path, closed: frozenset[Path]) -> Iterator[Path]:
    """``path``, or in its place what lies in it beside the closed folders."""
    if path in closed or not path.exists():
        return
    if not any(path in folder.parents for folder in closed):
        yield path
        return
    with suppress(OSError):
        for child in sorted(path.iterdir()):
            yield from _without(_real(child), closed)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@contextmanager
def _own_folder() -> Generator[Path]:
    """A new folder that is removed afterwards; those of gateways that were killed are removed first."""
    _sweep(Path(tempfile.gettempdir()))
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="gristmill-new-")))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = made.with_name(PREFIX + made.name.removeprefix("gristmill-new-"))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # goes with this process, however it goes
        folder = made.rename(folder)  # only now: a name of this kind that nobody has locked is swept
        yield folder
    finally:
        _remove(folder)
        os.close(handle)


def _sweep(temporary: Path) -> None:
    for folder in temporary.glob(f"{PREFIX}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(handle).st_uid == os.geteuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    with suppress(RecursionError):  # a server may have made folders deeper than we go
        shutil.rmtree(folder, ignore_errors=True)
