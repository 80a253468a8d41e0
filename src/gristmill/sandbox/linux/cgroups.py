"""Cgroups, kept by the host: memory, processes and CPU share of a whole execution. Version 2 where it is delegated to us,
version 1 where its folders are ours to write, else none, and `gristmill doctor` says so."""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Version = Literal["v2", "v1", "none"]
CPU_PERIOD_US = 20_000
CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where groups can be made: one folder per controller in version 1, the same one for all in version 2."""

    version: Version
    folders: dict[str, str] = field(default_factory=dict[str, str])
    reason: str = ""

    def unique(self) -> list[str]:
        """The folders, each once."""
        return list(dict.fromkeys(self.folders.values()))


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """What a group enforces."""

    memory_bytes: int
    processes: int
    cpu_percent: int


def prepare(name: str) -> Hierarchy:
    """Make the folder ``name`` that holds our groups, if the host lets us."""
    try:
        own = _own_paths()
    except OSError as error:
        return Hierarchy("none", reason=f"/proc/self/cgroup cannot be read: {error.strerror}")
    mounts = _mounts()
    if "cgroup2" in mounts and set(CONTROLLERS) <= set(_words(f"{mounts['cgroup2']}{own.get('', '/')}/cgroup.controllers")):
        return _prepare_v2(f"{mounts['cgroup2']}{own['']}".rstrip("/"), name)
    return _prepare_v1({c: f"{mounts[c]}{own.get(c, '/')}".rstrip("/") for c in CONTROLLERS if c in mounts}, name)


def _prepare_v2(own: str, name: str) -> Hierarchy:
    """Controllers can be passed on only by a group without processes, so ours move into a leaf first."""
    leaf, folder = f"{own}/gristmill-host", f"{own}/{name}"
    wanted = " ".join(f"+{controller}" for controller in CONTROLLERS)
    try:
        if set(CONTROLLERS) - set(_words(f"{own}/cgroup.subtree_control")):
            os.makedirs(leaf, exist_ok=True)
            for pid in _words(f"{own}/cgroup.procs"):
                _write(f"{leaf}/cgroup.procs", pid)
            _write(f"{own}/cgroup.subtree_control", wanted)
        os.mkdir(folder)
        _write(f"{folder}/cgroup.subtree_control", wanted)
    except OSError as error:
        return Hierarchy("none", reason=f"cgroup v2 is not delegated to us ({error.strerror})")
    return Hierarchy("v2", dict.fromkeys(CONTROLLERS, folder))


def _prepare_v1(parents: dict[str, str], name: str) -> Hierarchy:
    if missing := set(CONTROLLERS) - set(parents):
        return Hierarchy("none", reason=f"no cgroup controller for {', '.join(sorted(missing))}")
    made: dict[str, str] = {}
    for controller, parent in parents.items():
        try:
            os.mkdir(f"{parent}/{name}")
        except OSError as error:
            remove(made.values())
            return Hierarchy("none", reason=f"cgroup v1 {controller} is not ours to write ({error.strerror})")
        made[controller] = f"{parent}/{name}"
    return Hierarchy("v1", made)


class Group:
    """One execution's group. Reused after its processes are gone: making one costs more than emptying it."""

    def __init__(self, hierarchy: Hierarchy, name: str) -> None:
        self._version = hierarchy.version
        self._at = {controller: f"{folder}/{name}" for controller, folder in hierarchy.folders.items()}
        self._limits: GroupLimits | None = None
        for folder in dict.fromkeys(self._at.values()):
            os.mkdir(folder)
        peak = "memory.max_usage_in_bytes" if self._version == "v1" else "memory.peak"
        try:
            self._peak = os.open(f"{self._at['memory']}/{peak}", os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # memory.peak came with Linux 5.19
            self._peak = -1
        # Open for as long as the group lives: admitting a process happens before every run.
        self._doors = [
            os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in dict.fromkeys(self._at.values())
        ]
        events = "memory.oom_control" if self._version == "v1" else "memory.events"
        self._events = os.open(f"{self._at['memory']}/{events}", os.O_RDONLY | os.O_CLOEXEC)
        self._ooms = 0

    def admit(self, pid: int, limits: GroupLimits) -> None:
        """Set the limits and put the process under them."""
        if limits != self._limits:
            self._set(limits)
            self._limits = limits
        self._ooms = self._oom_kills()
        if self._version == "v1" and self._peak >= 0:
            os.pwrite(self._peak, b"0", 0)
        name = b"%d" % pid
        for door in self._doors:
            os.write(door, name)

    def peak_bytes(self) -> int | None:
        """The most memory it had since ``admit``."""
        return int(os.pread(self._peak, 32, 0)) if self._peak >= 0 else None

    def was_out_of_memory(self) -> bool:
        """True when the kernel killed something in here since ``admit``."""
        return self._oom_kills() > self._ooms

    def close(self) -> None:
        """Remove it; its processes must be gone."""
        for fd in (*self._doors, self._events, *([self._peak] if self._peak >= 0 else [])):
            os.close(fd)
        self._doors, self._peak, self._events = [], -1, -1
        remove(self._at.values())

    def _set(self, limits: GroupLimits) -> None:
        memory, pids, cpu = (self._at[controller] for controller in CONTROLLERS)
        quota = limits.cpu_percent * CPU_PERIOD_US // 100
        if self._version == "v2":
            _write(f"{memory}/memory.max", str(limits.memory_bytes))
            _try_write(f"{memory}/memory.swap.max", "0")
            _try_write(f"{memory}/memory.oom.group", "1")
            _write(f"{cpu}/cpu.max", f"{quota} {CPU_PERIOD_US}")
        else:
            _write(f"{memory}/memory.limit_in_bytes", str(limits.memory_bytes))
            _try_write(f"{memory}/memory.swappiness", "0")
            _write(f"{cpu}/cpu.cfs_period_us", str(CPU_PERIOD_US))
            _write_quota(f"{cpu}/cpu.cfs_quota_us", quota)
        _write(f"{pids}/pids.max", str(limits.processes))

    def _oom_kills(self) -> int:
        after = os.pread(self._events, 4096, 0).partition(b"oom_kill ")[2]
        return int(after.split(None, 1)[0]) if after else 0


def remove(folders: Iterable[str]) -> bool:
    """Remove empty groups; false when one is still busy."""
    done = True
    for folder in dict.fromkeys(folders):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            done = False
    return done


def remove_trees(folders: Iterable[str]) -> bool:
    """Remove groups and those in them; false when one is still busy."""
    done = True
    for folder in folders:
        try:
            inner = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
        except FileNotFoundError:
            continue
        done = remove([*inner, folder]) and done
    return done


def memory_bytes() -> int:
    """Memory that this process may use: the machine's, or the least that one of its groups allows."""
    least = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        own, mounts = _own_paths(), _mounts()
    except OSError:
        return least
    for name, mount, file in (("", "cgroup2", "memory.max"), ("memory", "memory", "memory.limit_in_bytes")):
        path = own.get(name, "/")
        # In a container the path may be the host's, of which only the top is there.
        for folder in {"/", path, *(path[:end] for end, sign in enumerate(path) if sign == "/" and end)}:
            found = _words(f"{mounts[mount]}{folder}/{file}") if mount in mounts else []
            if found and found[0].isdigit():
                least = min(least, int(found[0]))
    return least


def _own_paths() -> dict[str, str]:
    """Controller -> our path in its hierarchy; the empty name is version 2."""
    paths: dict[str, str] = {}
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        for line in lines:
            _, names, path = line.rstrip("\n").split(":", 2)
            paths |= dict.fromkeys(names.split(","), path)
    return paths


def _mounts() -> dict[str, str]:
    """Controller (or ``cgroup2``) -> where its hierarchy is mounted."""
    found: dict[str, str] = {}
    with open("/proc/self/mounts", encoding="utf-8") as lines:
        for line in lines:
            _, point, kind, options, *_ = line.split(" ")
            if kind == "cgroup2":
                found["cgroup2"] = point
            elif kind == "cgroup":
                found |= {option: point for option in options.split(",") if option in CONTROLLERS}
    return found


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _write_quota(path: str, quota: int) -> None:
    """Version 1 refuses more than a group above has, such as that of a service with half a core: then that one's limit holds."""
    try:
        _write(path, str(quota))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        _write(path, "-1")


def _try_write(path: str, text: str) -> None:
    try:
        _write(path, text)
    except OSError:
        pass  # an older kernel or no swap accounting: the limit above holds without it
