"""A child's steps as system calls, prepared in the template: one file that says what each step asks of the kernel."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

from gristmill.sandbox.linux import kernel, landlock, mounts, namespaces, rlimits
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from gristmill.sandbox.linux.template.syscall_batch import Batch, Call, Walker

CHANNEL = 3
"""The one descriptor, beside the three standard ones, that a child keeps."""
AT_FDCWD = -100
KEPT = 16
"""Different seals that are kept ready; a pool's own is one, each session's another."""


class Seal:
    """One child's calls: what its values leave open is filled in, only its two descriptors come later."""

    def __init__(self) -> None:
        self.batch = Batch()
        self.worker_at = 0
        self._channel: list[tuple[Call, int]] = []
        self._output: list[tuple[Call, int]] = []
        self._aimed = (-1, -1)

    def take_channel(self, call: Call, place: int = 0) -> None:
        """The host's channel is this argument of the call."""
        self._channel.append((call, place))

    def take_output(self, call: Call, place: int = 0) -> None:
        """The pipe for what is printed is this argument of the call."""
        self._output.append((call, place))

    def aim(self, channel: int, output: int) -> None:
        """Use these descriptors for the next child.

        Raises:
            OSError: they are where the child's own will be; never happens while the template keeps its low numbers occupied.
        """
        if self._aimed == (channel, output):
            return  # the usual case: the template closes what it passed on, so the numbers come back
        if output <= CHANNEL or channel <= CHANNEL:
            raise OSError(9, "descriptors collide")
        for slots, fd in ((self._channel, channel), (self._output, output)):
            for call, place in slots:
                call.args[place] = fd
        self._aimed = channel, output


class Sealer:
    """Makes seals from the plan; holds what all of them share."""

    def __init__(self, steps: list[dict[str, Any]], filters: dict[str, bytes], walker: Walker) -> None:
        self._steps, self._walker = steps, walker
        self._filters = {name: seccomp.Prepared(program) for name, program in filters.items()}
        self._abi = landlock.abi()
        # A number of its own, so that the calls which use the ruleset can be prepared before it exists.
        self._ruleset = landlock.open_path("/")
        self._shared = [rule for step in steps for rule in self._rules(step.get("shared", ()))]
        self._identity = os.geteuid(), os.getegid()  # later, in a new user namespace, both read as the overflow id
        self._ready: dict[bytes, Seal] = {}

    def seal(self, key: bytes, values: dict[str, Any]) -> Seal:
        """The calls for a child with these values, which ``key`` stands for."""
        found = self._ready.get(key)
        if found is None:
            if len(self._ready) >= KEPT:
                del self._ready[next(iter(self._ready))]
            found = self._ready[key] = self._make(values)
        return found

    def known(self, key: bytes) -> Seal | None:
        """The calls that ``key`` stands for, if they were made before."""
        return self._ready.get(key)

    def fork(self, seal: Seal, end: int | None) -> int:
        """Fork a process that makes the calls up to ``end``: the negative pid, FORK_FAILED, or in the child where it stopped."""
        return self._walker.fork(seal.batch.at(0), seal.batch.at(end), kernel.FORK)

    def walk(self, seal: Seal, first: int) -> None:
        """Go on sealing this process.

        Raises:
            KernelRefused: on the first call that fails; the caller must exit.
        """
        seal.batch.walk(self._walker, first)

    def _make(self, values: dict[str, Any]) -> Seal:
        seal = Seal()
        for step in self._steps:
            seal.batch.step = f"child step {step['do']}"
            arguments: dict[str, Any] = {
                k: values[v[1:]] if isinstance(v, str) and v[:1] == "$" else v for k, v in step.items() if k != "do"
            }
            if step["do"] == "landlock":
                own = [(values[path[1:]] if path[:1] == "$" else path, access) for path, access in arguments["own"]]
                self._landlock(seal, own)
            elif step["do"] == "seccomp":
                seal.batch.add("seccomp", 1, 0, self._filters[arguments["filter"]].header)
            elif step["do"] == "enter_user":
                _enter_user(seal, *self._identity, **arguments)
            else:
                _STEPS[step["do"]](seal, **arguments)
        return seal

    def _landlock(self, seal: Seal, own: list[tuple[str, str]]) -> None:
        batch, ruleset = seal.batch, self._ruleset
        made = batch.add("landlock_create_ruleset", landlock.handled(self._abi), landlock.handled_size(self._abi), 0)
        batch.keep(made, batch.argument(batch.add("dup3", -1, ruleset, os.O_CLOEXEC), 0))
        for rule in self._shared:
            batch.add("landlock_add_rule", ruleset, 1, rule, 0)
        for path, access in own:
            rule = landlock.Rule(landlock.rights(access, self._abi), -1)
            # What is not there needs no permission: a masked /proc. Without its rule the path stays closed.
            opened = batch.add("openat", AT_FDCWD, path, os.O_PATH | os.O_CLOEXEC, on_error_go_on=True)
            opened.on_error = 2 * opened.on_ok
            batch.keep(opened, ctypes.addressof(rule) + landlock.Rule.fd.offset)
            batch.add("landlock_add_rule", ruleset, 1, rule, 0)
        batch.add("landlock_restrict_self", ruleset, 0)

    def _rules(self, paths: list[tuple[str, str]]) -> list[landlock.Rule]:
        found: list[landlock.Rule] = []
        for path, access in paths:
            try:
                found.append(landlock.rule(landlock.open_path(path), access, self._abi))
            except FileNotFoundError:
                continue  # a device that the host lacks
        return found


def _await_admission(seal: Seal) -> None:
    """Wait until the host has put us under its limits: not a page is touched for the agent before."""
    seal.take_channel(seal.batch.add("read", -1, ctypes.create_string_buffer(1), 1, want=1))


def _chdir(seal: Seal, path: str) -> None:
    seal.batch.add("chdir", path)


def _close_others(seal: Seal) -> None:
    """Close everything that is not one of the four."""
    seal.batch.add("close_range", CHANNEL + 1, 0x7FFFFFFF, 0)


def _cover(seal: Seal, path: str) -> None:
    seal.batch.add("mount", *mounts.covering(path))


def _descriptors(seal: Seal) -> None:
    """Stdin reads nothing, stdout and stderr go to the host's pipe, the channel sits at a fixed number."""
    batch = seal.batch
    nothing = batch.add("openat", AT_FDCWD, "/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    batch.keep(nothing, batch.argument(batch.add("dup3", -1, 0, 0), 0))
    for fd in (1, 2):
        seal.take_output(batch.add("dup3", -1, fd, 0))
    seal.take_channel(batch.add("dup3", -1, CHANNEL, os.O_CLOEXEC))


def _die_with_parent(seal: Seal) -> None:
    seal.batch.add("prctl", kernel.PR_SET_PDEATHSIG, 9, 0, 0, 0)


def _drop_capabilities(seal: Seal) -> None:
    seal.batch.add("capset", namespaces.CAP_HEADER, namespaces.NO_CAPS)


def _enter_user(seal: Seal, uid: int, gid: int, inside: int) -> None:
    batch = seal.batch
    batch.add("unshare", namespaces.FLAGS["user"])
    for name, text in (("setgroups", "deny"), ("gid_map", f"{inside} {gid} 1\n"), ("uid_map", f"{inside} {uid} 1\n")):
        opened = batch.add("openat", AT_FDCWD, f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        batch.keep(opened, batch.argument(batch.add("write", -1, text, len(text), want=len(text)), 0))


def _fork_worker(seal: Seal) -> None:
    """A session's code runs in a second process, so that the first can outlive it and its branches; both are sealed alike."""
    seal.worker_at = len(seal.batch)


def _hang_up(seal: Seal) -> None:
    """Close the template's line to the host: while a child held it, the host could not see that the template has died."""
    seal.batch.add("close", CHANNEL)  # the same number, until the channel takes it


def _proc_or_nothing(seal: Seal) -> None:
    """A fresh /proc, or an empty one: never the one that shows the host's processes."""
    seal.batch.add("mount", *mounts.PROC, skip_on_ok=1, on_error_go_on=True)
    _cover(seal, "/proc")


def _rebind(seal: Seal, source: str, target: str) -> None:
    seal.batch.add("mount", source, target, None, mounts.MS_BIND, None)


def _scratch(seal: Seal, path: str, megabytes: int, files: int) -> None:
    """A fresh tmpfs with a size and a file limit, holding tmp, shm and the private workspace."""
    options = f"mode=755,size={megabytes}m,nr_inodes={files + 5}"
    seal.batch.add("mount", "scratch", path, "tmpfs", mounts.MS_NOSUID | mounts.MS_NODEV, options)
    for name in ("tmp", "shm", "workspace"):
        seal.batch.add("mkdirat", AT_FDCWD, f"{path}/{name}", 0o777)


def _set_limits(seal: Seal, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        seal.batch.add("prlimit64", 0, rlimits.NAMES[name], (ctypes.c_uint64 * 2)(*rlimits.pair(name, value)), None)


def _unblock_signals(seal: Seal) -> None:
    """The template hears of its children by descriptor and keeps their signal blocked; code starts with none blocked."""
    seal.batch.add("rt_sigprocmask", 2, ctypes.c_uint64(0), None, 8)


def _unshare(seal: Seal, names: list[str]) -> None:
    seal.batch.add("unshare", sum(namespaces.FLAGS[name] for name in names))


_STEPS: dict[str, Callable[..., None]] = {
    "await_admission": _await_admission,
    "chdir": _chdir,
    "close_others": _close_others,
    "cover": _cover,
    "descriptors": _descriptors,
    "die_with_parent": _die_with_parent,
    "drop_capabilities": _drop_capabilities,
    "fork_worker": _fork_worker,
    "hang_up": _hang_up,
    "proc_or_nothing": _proc_or_nothing,
    "rebind": _rebind,
    "scratch": _scratch,
    "set_limits": _set_limits,
    "unblock_signals": _unblock_signals,
    "unshare": _unshare,
}
