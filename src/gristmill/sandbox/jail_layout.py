"""The host paths that a jail may see (the interpreter, its libraries and the packages) and their neutral names inside."""

import os
import sys
import sysconfig
from pathlib import Path

from msgspec import Struct

from gristmill.errors import SandboxUnavailable
from gristmill.sandbox.jail_programs import FOLDER, list_program_binds

PYTHON, SITE, MILL, CATALOG = "/opt/python", "/opt/site", "/opt/gristmill", "/opt/catalog"
SHARED_PREFIXES = ("/", "/usr")  # prefixes that hold far more than one Python installation


class JailLayout(Struct, frozen=True, kw_only=True):
    """Host paths and the names they get inside the jail; at the landlock level both are the same."""

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    executable: str
    library: str
    site: str | None
    mill: str
    catalog: str | None = None
    programs: str | None = None
    """The folder of the machine's programs that code may start."""


def get_python_name() -> str:
    """Returns the name that the files of this Python carry, such as `python3.11`."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def make_mounted_layout(site: Path | None, catalog: Path | None = None, programs: tuple[str, ...] = ()) -> JailLayout:
    """Makes the layout of a jail with a file tree of its own.

    Raises:
        SandboxUnavailable: one of ``programs`` is not installed.
    """
    package = str(Path(__file__).parents[1])
    binds = [*_list_interpreter_binds(), *_list_library_binds()]
    binds += [(f"{package}/guest", f"{MILL}/gristmill/guest"), (f"{package}/sandbox/linux", f"{MILL}/gristmill/sandbox/linux")]
    if site:
        binds.append((str(site), SITE))
    if catalog:
        binds.append((str(catalog), CATALOG))
    binds += list_program_binds(programs)
    return JailLayout(
        binds=tuple(pair for pair in binds if os.path.exists(pair[0])),
        links=(
            *((os.readlink(path), path) for path in ("/lib", "/lib64") if os.path.islink(path)),
            *(_list_program_links() if programs else ()),
        ),
        executable=f"{PYTHON}/bin/{get_python_name()}",
        library=f"{PYTHON}/lib/{get_python_name()}",
        site=SITE if site else None,
        mill=MILL,
        catalog=CATALOG if catalog else None,
        programs=FOLDER if programs else None,
    )


def make_host_layout(site: Path | None, catalog: Path | None = None, programs: tuple[str, ...] = ()) -> JailLayout:
    """Makes the layout of a jail without a mount namespace: host paths, each readable one listed for Landlock.

    Raises:
        SandboxUnavailable: ``programs`` are asked for, and code at this level starts none.
    """
    if programs:
        raise SandboxUnavailable(
            "sandbox.programs needs the isolation level namespaces: at the level landlock code may start no programs"
        )
    package = str(Path(__file__).parents[1])
    names = [source for source, _ in (*_list_interpreter_binds(), *_list_library_binds())] + [
        f"{package}/guest",
        f"{package}/sandbox/linux",
    ]
    names += [str(folder) for folder in (site, catalog) if folder]
    return JailLayout(
        binds=tuple((name, name) for name in names if os.path.exists(name)),
        links=(),
        executable=find_interpreter(),
        library=sysconfig.get_path("stdlib"),
        site=str(site) if site else None,
        mill=str(Path(package).parent),
        catalog=str(catalog) if catalog else None,
    )


def find_closed_path(layout: JailLayout) -> str | None:
    """Returns the first of the layout's paths that a user without rights cannot reach, or None."""
    for path in (layout.executable, layout.library, f"{layout.mill}/gristmill"):
        for part in (path, *map(str, Path(path).parents)):
            if not os.stat(part).st_mode & 0o001:
                return part
    return None


def find_interpreter() -> str:
    """Returns the path of the interpreter itself, not of a virtual environment's link to it."""
    # In a virtual environment sys.executable is a link, and its prefix is that of the environment.
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _list_interpreter_binds() -> list[tuple[str, str]]:
    stdlib = sysconfig.get_path("stdlib")
    binds = [(find_interpreter(), f"{PYTHON}/bin/{get_python_name()}")]
    if sys.base_prefix in SHARED_PREFIXES:
        return [*binds, (stdlib, f"{PYTHON}/lib/{get_python_name()}")]
    return [*binds, (f"{sys.base_prefix}/lib", f"{PYTHON}/lib")]


def _list_program_links() -> tuple[tuple[str, str], ...]:
    """Returns links by the names that scripts use: /bin, and Python as `python3` and `python`."""
    return (("usr/bin", "/bin"), *((get_python_name(), f"{PYTHON}/bin/{name}") for name in ("python3", "python")))


def _list_library_binds() -> list[tuple[str, str]]:
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    # Debian keeps libraries in a folder of their own; on other systems the whole library folder has to be visible.
    folders = [f"/usr/lib/{multiarch}", f"/lib/{multiarch}"] if os.path.isdir(f"/usr/lib/{multiarch}") else ["/usr/lib", "/lib"]
    folders += ["/usr/lib64", "/lib64", "/usr/share/zoneinfo"]
    # /lib is a link on most systems: the link is copied, and its target is made visible once.
    return [(folder, folder) for folder in folders if os.path.realpath(folder) == folder]
