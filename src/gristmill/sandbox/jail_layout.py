"""What of this host the jail may see: the interpreter, its libraries and the packages, each under a neutral name."""

import os
import sys
import sysconfig
from pathlib import Path

from gristmill.values import dataclass

PYTHON, SITE, MILL, CATALOG = "/opt/python", "/opt/site", "/opt/gristmill", "/opt/catalog"
SHARED_PREFIXES = ("/", "/usr")  # prefixes that hold far more than a Python


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Paths of the host and the names they get inside; at the landlock level both are the same."""

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    executable: str
    library: str
    site: str | None
    mill: str
    catalog: str | None = None


def version() -> str:
    """The name that this Python's files carry."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def inside(site: Path | None, catalog: Path | None = None) -> Layout:
    """The layout of a jail with a file tree of its own."""
    package = str(Path(__file__).parents[1])
    binds = [*_interpreter(), *_system_libraries()]
    binds += [(f"{package}/guest", f"{MILL}/gristmill/guest"), (f"{package}/sandbox/linux", f"{MILL}/gristmill/sandbox/linux")]
    if site:
        binds.append((str(site), SITE))
    if catalog:
        binds.append((str(catalog), CATALOG))
    return Layout(
        binds=tuple(pair for pair in binds if os.path.exists(pair[0])),
        links=tuple((os.readlink(path), path) for path in ("/lib", "/lib64") if os.path.islink(path)),
        executable=f"{PYTHON}/bin/{version()}",
        library=f"{PYTHON}/lib/{version()}",
        site=SITE if site else None,
        mill=MILL,
        catalog=CATALOG if catalog else None,
    )


def outside(site: Path | None, catalog: Path | None = None) -> Layout:
    """The layout without a mount namespace: host paths, readable ones named one by one for Landlock."""
    package = str(Path(__file__).parents[1])
    names = [source for source, _ in (*_interpreter(), *_system_libraries())] + [f"{package}/guest", f"{package}/sandbox/linux"]
    names += [str(folder) for folder in (site, catalog) if folder]
    return Layout(
        binds=tuple((name, name) for name in names if os.path.exists(name)),
        links=(),
        executable=executable(),
        library=sysconfig.get_path("stdlib"),
        site=str(site) if site else None,
        mill=str(Path(package).parent),
        catalog=str(catalog) if catalog else None,
    )


def closed_to_others(layout: Layout) -> str | None:
    """The first of the paths that a user without rights could not reach, if there is one."""
    for path in (layout.executable, layout.library, f"{layout.mill}/gristmill"):
        for part in (path, *map(str, Path(path).parents)):
            if not os.stat(part).st_mode & 0o001:
                return part
    return None


def executable() -> str:
    """The interpreter itself, not a virtual environment's link to it."""
    # In a virtual environment sys.executable is a link whose prefix is the wrong one.
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _interpreter() -> list[tuple[str, str]]:
    stdlib = sysconfig.get_path("stdlib")
    binds = [(executable(), f"{PYTHON}/bin/{version()}")]
    if sys.base_prefix in SHARED_PREFIXES:
        return [*binds, (stdlib, f"{PYTHON}/lib/{version()}")]
    return [*binds, (f"{sys.base_prefix}/lib", f"{PYTHON}/lib")]


def _system_libraries() -> list[tuple[str, str]]:
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    # Debian keeps libraries apart from everything else; elsewhere the whole folder has to be shown.
    folders = [f"/usr/lib/{multiarch}", f"/lib/{multiarch}"] if os.path.isdir(f"/usr/lib/{multiarch}") else ["/usr/lib", "/lib"]
    folders += ["/usr/lib64", "/lib64", "/usr/share/zoneinfo"]
    # /lib is a link on most systems: the link is copied, and what it leads to is shown once.
    return [(folder, folder) for folder in folders if os.path.realpath(folder) == folder]
