"""Cgroups, managed by the host: memory, processes and CPU share of a whole execution. Uses version 2 where it is delegated to us,
version 1 where its folders are writable for us, otherwise none, which `gristmill doctor` reports."""

import errno
import os
from dataclasses import dataclass, field, replace
from typing import Literal

from gristmill.sandbox.linux.dead_groups import lock_groups, sweep_dead_groups
from gristmill.sandbox.linux.group_folders import remove_groups

Version = Literal["v2", "v1", "none"]
CPU_PERIOD_US = 20_000
CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class CgroupHierarchy:
    """Where groups can be made: one folder per controller in version 1, the same folder for all in version 2."""

    version: Version
    folders: dict[str, str] = field(default_factory=dict[str, str])
    reason: str = ""
    locks: tuple[int, ...] = ()
    """Descriptors that show other gateways that this one lives."""

    def unique_folders(self) -> list[str]:
        """Lists the folders, each once."""
        return list(dict.fromkeys(self.folders.values()))


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The limits that a group enforces."""

    memory_bytes: int
    processes: int
    cpu_percent: int


def prepare_hierarchy(name: str) -> CgroupHierarchy:
    """Makes the folder ``name`` that holds our groups, if the host permits it, and removes those of dead gateways beside it."""
    try:
        own = _read_own_paths()
    except OSError as error:
        return CgroupHierarchy("none", reason=f"/proc/self/cgroup cannot be read: {error.strerror}")
    mounts = _read_mounts()
    if "cgroup2" in mounts and set(CONTROLLERS) <= set(_read_words(f"{mounts['cgroup2']}{own.get('', '/')}/cgroup.controllers")):
        folder = f"{mounts['cgroup2']}{own['']}".rstrip("/")
        sweep_dead_groups([folder])
        return _hold_groups(_prepare_v2(folder, name))
    parents = {c: f"{mounts[c]}{own.get(c, '/')}".rstrip("/") for c in CONTROLLERS if c in mounts}
    sweep_dead_groups(parents.values())
    return _hold_groups(_prepare_v1(parents, name))


def _hold_groups(made: CgroupHierarchy) -> CgroupHierarchy:
    """Locks the folders that were just made, so that no gateway which starts now takes them for those of a dead one."""
    if made.version == "none":
        return made
    locks = lock_groups(made.unique_folders())
    if locks is None:
        remove_groups(made.unique_folders())
        return CgroupHierarchy("none", reason="another gateway removed our groups while they were made: start again")
    return replace(made, locks=locks)


def _prepare_v2(own: str, name: str) -> CgroupHierarchy:
    """Prepares version 2: only a group without processes can pass controllers on, so our own processes move into a leaf first."""
    leaf, folder = f"{own}/gristmill-host", f"{own}/{name}"
    wanted = " ".join(f"+{controller}" for controller in CONTROLLERS)
    try:
        if set(CONTROLLERS) - set(_read_words(f"{own}/cgroup.subtree_control")):
            os.makedirs(leaf, exist_ok=True)
            for pid in _read_words(f"{own}/cgroup.procs"):
                _write_file(f"{leaf}/cgroup.procs", pid)
            _write_file(f"{own}/cgroup.subtree_control", wanted)
        os.mkdir(folder)
        _write_file(f"{folder}/cgroup.subtree_control", wanted)
    except OSError as error:
        return CgroupHierarchy("none", reason=f"cgroup v2 is not delegated to us ({error.strerror})")
    return CgroupHierarchy("v2", dict.fromkeys(CONTROLLERS, folder))


def _prepare_v1(parents: dict[str, str], name: str) -> CgroupHierarchy:
    if missing := set(CONTROLLERS) - set(parents):
        return CgroupHierarchy("none", reason=f"no cgroup controller for {', '.join(sorted(missing))}")
    made: dict[str, str] = {}
    for controller, parent in parents.items():
        try:
            os.mkdir(f"{parent}/{name}")
        except OSError as error:
            remove_groups(made.values())
            return CgroupHierarchy("none", reason=f"cgroup v1 {controller} is not writable for us ({error.strerror})")
        made[controller] = f"{parent}/{name}"
    return CgroupHierarchy("v1", made)


class ControlGroup:
    """One execution's group. It is reused after its processes have ended: making a group costs more than emptying one."""

    def __init__(self, hierarchy: CgroupHierarchy, name: str) -> None:
        self._version = hierarchy.version
        self._folders = {controller: f"{folder}/{name}" for controller, folder in hierarchy.folders.items()}
        self._limits: GroupLimits | None = None
        self._peak_fd, self._events_fd, self._kills_before = -1, -1, 0
        self._procs_fds: list[int] = []
        try:
            for folder in dict.fromkeys(self._folders.values()):
                os.mkdir(folder)
            self._open_files()
        except OSError:
            self.close()  # no descriptor and no folder stays of a group that could not be made
            raise

    def _open_files(self) -> None:
        peak = "memory.max_usage_in_bytes" if self._version == "v1" else "memory.peak"
        try:
            self._peak_fd = os.open(f"{self._folders['memory']}/{peak}", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:  # memory.peak came with Linux 5.19
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
        # Kept open for the life of the group: a process is admitted before every run.
        for folder in dict.fromkeys(self._folders.values()):
            self._procs_fds.append(os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        events = "memory.oom_control" if self._version == "v1" else "memory.events"
        self._events_fd = os.open(f"{self._folders['memory']}/{events}", os.O_RDONLY | os.O_CLOEXEC)

    def admit(self, pid: int, limits: GroupLimits) -> None:
        """Sets the limits and puts the process under them."""
        if limits != self._limits:
            self._write_limits(limits)
            self._limits = limits
        self.begin_run()
        name = b"%d" % pid
        for procs_fd in self._procs_fds:
            os.write(procs_fd, name)

    def begin_run(self) -> None:
        """Counts memory from now on: in a kept session, what happened in one execution must not end the next one."""
        self._kills_before = self._count_oom_kills()
        if self._version == "v1" and self._peak_fd >= 0:
            os.pwrite(self._peak_fd, b"0", 0)

    def peak_bytes(self) -> int | None:
        """Returns the most memory that the group has used since ``begin_run``."""
        return int(os.pread(self._peak_fd, 32, 0)) if self._peak_fd >= 0 else None

    def was_out_of_memory(self) -> bool:
        """Returns True when the kernel has killed a process of the group for lack of memory since ``begin_run``."""
        return self._count_oom_kills() > self._kills_before

    def close(self) -> None:
        """Removes the group; its processes must have ended."""
        for fd in (*self._procs_fds, self._events_fd, self._peak_fd):
            if fd >= 0:
                os.close(fd)
        self._procs_fds, self._peak_fd, self._events_fd = [], -1, -1
        remove_groups(self._folders.values())

    def _write_limits(self, limits: GroupLimits) -> None:
        memory, pids, cpu = (self._folders[controller] for controller in CONTROLLERS)
        quota = limits.cpu_percent * CPU_PERIOD_US // 100
        if self._version == "v2":
            _write_file(f"{memory}/memory.max", str(limits.memory_bytes))
            _try_write_file(f"{memory}/memory.swap.max", "0")
            _try_write_file(f"{memory}/memory.oom.group", "1")
            _write_file(f"{cpu}/cpu.max", f"{quota} {CPU_PERIOD_US}")
        else:
            _write_file(f"{memory}/memory.limit_in_bytes", str(limits.memory_bytes))
            _try_write_file(f"{memory}/memory.swappiness", "0")
            _write_file(f"{cpu}/cpu.cfs_period_us", str(CPU_PERIOD_US))
            _write_quota(f"{cpu}/cpu.cfs_quota_us", quota)
        _write_file(f"{pids}/pids.max", str(limits.processes))

    def _count_oom_kills(self) -> int:
        after = os.pread(self._events_fd, 4096, 0).partition(b"oom_kill ")[2]
        return int(after.split(None, 1)[0]) if after else 0


def read_available_memory() -> int:
    """Returns how much memory this process may use: the machine's, or the lowest limit of the groups it is in."""
    least = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        own, mounts = _read_own_paths(), _read_mounts()
    except OSError:
        return least
    for name, mount, file in (("", "cgroup2", "memory.max"), ("memory", "memory", "memory.limit_in_bytes")):
        path = own.get(name, "/")
        # In a container the path may be the host's, of which only the top is visible here.
        for folder in {"/", path, *(path[:end] for end, sign in enumerate(path) if sign == "/" and end)}:
            found = _read_words(f"{mounts[mount]}{folder}/{file}") if mount in mounts else []
            if found and found[0].isdigit():
                least = min(least, int(found[0]))
    return least


def _read_own_paths() -> dict[str, str]:
    """Maps each controller to our path in its hierarchy; the empty name stands for version 2."""
    paths: dict[str, str] = {}
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        for line in lines:
            _, names, path = line.rstrip("\n").split(":", 2)
            paths |= dict.fromkeys(names.split(","), path)
    return paths


def _read_mounts() -> dict[str, str]:
    """Maps each controller (or ``cgroup2``) to the mount point of its hierarchy."""
    found: dict[str, str] = {}
    with open("/proc/self/mounts", encoding="utf-8") as lines:
        for line in lines:
            _, point, kind, options, *_ = line.split(" ")
            if kind == "cgroup2":
                found["cgroup2"] = point
            elif kind == "cgroup":
                found |= {option: point for option in options.split(",") if option in CONTROLLERS}
    return found


def _read_words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _write_file(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _write_quota(path: str, quota: int) -> None:
    """Writes a CPU quota. Version 1 refuses a quota above that of a parent group, such as the group of a service with half a
    core: then the parent's limit holds."""
    try:
        _write_file(path, str(quota))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        _write_file(path, "-1")


def _try_write_file(path: str, text: str) -> None:
    try:
        _write_file(path, text)
    except OSError:
        pass  # an older kernel or no swap accounting: the memory limit holds without it
