"""What a program needs of this machine in order to start: itself, its environment or package tree, and its interpreter.

Only what can be told from files: a virtual environment by its `pyvenv.cfg`, a Node package by its `node_modules`, a script by
its first line. A program in somebody's home never opens the home itself.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/home/linuxbrew/.linuxbrew")
"""Programs and libraries of the machine: what everybody may read."""
SETTINGS = tuple(
    f"/etc/{name}"
    for name in """ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload nsswitch.conf passwd group hosts host.conf hostname
    resolv.conf gai.conf services protocols localtime timezone locale.conf locale.alias default/locale ssl pki ca-certificates
    ca-certificates.conf crypto-policies alternatives os-release lsb-release debian_version mime.types magic gitconfig npmrc
    pip.conf profile bash.bashrc inputrc terminfo fonts java static nix""".split()
)
"""What programs look up in /etc. Not all of it: keys, passwords and the settings of services are there too."""
KERNEL = (
    *(f"/proc/{name}" for name in "self meminfo cpuinfo stat loadavg uptime version filesystems sys".split()),
    *(f"/sys/{name}" for name in "devices/system/cpu devices/system/node kernel/mm/transparent_hugepage".split()),
)
"""Never the whole of /proc: the command lines of all other programs are in it."""
DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom".split())

_HOPS = 40
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S.*?))?\s*\n")
_HOME = re.compile(r"(?m)^home\s*=\s*(.+?)\s*$")


def needed(program: str, path: str) -> tuple[str, ...]:
    """The files and folders that ``program`` consists of, with the interpreter that ``path`` finds for it."""
    found: dict[str, None] = {}
    waiting = [program]
    while waiting and len(found) < 64:
        hops = list(_hops(Path(waiting.pop())))
        for hop in hops:
            found.update(dict.fromkeys(_trees(hop)))
        found[str(hops[-1])] = None
        waiting += [name for name in _interpreter(hops[-1], path) if name not in found]
    return tuple(found)


def _hops(path: Path) -> Iterator[Path]:
    """The path and whatever it links to, one link at a time: an environment is told by the link, a package by its target."""
    for _ in range(_HOPS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(os.path.join(os.path.realpath(path.parent), path.readlink())))
    if (real := Path(os.path.realpath(path))) != path:
        yield real


def _trees(program: Path) -> Iterator[str]:
    if "node_modules" in program.parts:
        yield str(Path(*program.parts[: program.parts.index("node_modules") + 1]))
    prefix = program.parent.parent
    if program.parent.name != "bin":
        return
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        yield str(prefix)
        if home := _HOME.search(settings.read_text(encoding="utf-8", errors="replace")):
            yield from _prefix(Path(home[1]).parent)
    else:
        yield from _prefix(prefix)


def _prefix(prefix: Path) -> Iterator[str]:
    """An installation's libraries: enough for a Python, a Node and a program with libraries of its own."""
    libraries = prefix / "lib"
    # In a home, `lib` may be anything; those of a language are known by their names.
    if prefix == Path.home():
        yield from (str(each) for each in libraries.glob("python3*"))
        yield from (str(each) for each in libraries.glob("node_modules"))
    elif libraries.is_dir():
        yield str(libraries)


def _interpreter(script: Path, path: str) -> Iterator[str]:
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
