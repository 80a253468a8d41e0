"""Finds what a program needs of this machine in order to start: its own files, its environment or package tree, its interpreter.

Only files are inspected: a virtual environment is known by its `pyvenv.cfg`, a Node package by its `node_modules`, a script by
its first line. A program in a home folder never opens the home folder itself.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/home/linuxbrew/.linuxbrew")
"""Programs and libraries of the machine, which every user may read."""
SETTINGS = tuple(
    f"/etc/{name}"
    for name in """ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload nsswitch.conf passwd group hosts host.conf hostname
    resolv.conf gai.conf services protocols localtime timezone locale.conf locale.alias default/locale ssl pki ca-certificates
    ca-certificates.conf crypto-policies alternatives os-release lsb-release debian_version mime.types magic gitconfig npmrc
    pip.conf profile bash.bashrc inputrc terminfo fonts java static nix""".split()
)
"""Files that programs look up in /etc. Not the whole folder: it also holds keys, passwords and the settings of services."""
KERNEL = (
    *(f"/proc/{name}" for name in "self meminfo cpuinfo stat loadavg uptime version filesystems sys".split()),
    *(f"/sys/{name}" for name in "devices/system/cpu devices/system/node kernel/mm/transparent_hugepage".split()),
)
"""Kernel files that programs read. Never the whole of /proc: it holds the command lines of all other programs."""
DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom".split())

_MOST_LINKS = 40
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S.*?))?\s*\n")
_HOME_LINE = re.compile(r"(?m)^home\s*=\s*(.+?)\s*$")


def find_needed_files(program: str, path: str) -> tuple[str, ...]:
    """Finds the files and folders that ``program`` consists of, and the interpreter that ``path`` finds for it."""
    found: dict[str, None] = {}
    waiting = [program]
    while waiting and len(found) < 64:
        hops = list(_follow_links(Path(waiting.pop())))
        for hop in hops:
            found.update(dict.fromkeys(_find_trees(hop)))
        found[str(hops[-1])] = None
        waiting += [name for name in _find_interpreter(hops[-1], path) if name not in found]
    return tuple(found)


def _follow_links(path: Path) -> Iterator[Path]:
    """Yields the path and each link target in turn: an environment is known by the link, a package by the target."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(os.path.join(os.path.realpath(path.parent), path.readlink())))
    if (real := Path(os.path.realpath(path))) != path:
        yield real


def _find_trees(program: Path) -> Iterator[str]:
    if "node_modules" in program.parts:
        yield str(Path(*program.parts[: program.parts.index("node_modules") + 1]))
    prefix = program.parent.parent
    if program.parent.name != "bin":
        return
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        yield str(prefix)
        if home := _HOME_LINE.search(settings.read_text(encoding="utf-8", errors="replace")):
            yield from _find_prefix_libraries(Path(home[1]).parent)
    else:
        yield from _find_prefix_libraries(prefix)


def _find_prefix_libraries(prefix: Path) -> Iterator[str]:
    """Yields an installation's libraries: enough for a Python, a Node and a program with libraries of its own."""
    libraries = prefix / "lib"
    # In a home folder, `lib` may hold anything; only the libraries of known languages are opened, by name.
    if prefix == Path.home():
        yield from (str(each) for each in libraries.glob("python3*"))
        yield from (str(each) for each in libraries.glob("node_modules"))
    elif libraries.is_dir():
        yield str(libraries)


def _find_interpreter(script: Path, path: str) -> Iterator[str]:
    try:
        with script.open("rb") as file:
            first = _SHEBANG.match(file.read(512))
    except OSError:
        return
    if not first:
        return
    words = [word.decode(errors="replace") for word in (first[1], *(first[2] or b"").split())]
    if os.path.basename(words[0]) == "env":
        named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        words = [shutil.which(named, path=path) or ""]
    if words[0]:
        yield words[0]
