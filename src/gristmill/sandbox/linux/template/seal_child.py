"""Prepares a child's steps as system calls, in the template. This file says what each step asks of the kernel."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

from gristmill.sandbox.linux import kernel, landlock, mounts, namespaces, rlimits
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from gristmill.sandbox.linux.template.syscall_batch import PreparedSyscall, SyscallBatch, SyscallWalker

CHANNEL = 3
"""The only descriptor, besides the three standard ones, that a child keeps."""
AT_FDCWD = -100
MOST_KEPT_SEALS = 16
"""How many different seals are kept ready: one for the pool's own limits, and one per session."""


class ChildSeal:
    """One child's prepared calls: its values are filled in already, and only its two descriptors are set later."""

    def __init__(self) -> None:
        self.batch = SyscallBatch()
        self.worker_at = 0
        self._channel: list[tuple[PreparedSyscall, int]] = []
        self._output: list[tuple[PreparedSyscall, int]] = []
        self._current_descriptors = (-1, -1)

    def fill_channel_into(self, call: PreparedSyscall, place: int = 0) -> None:
        """Notes that this argument of the call is the channel to the host."""
        self._channel.append((call, place))

    def fill_output_into(self, call: PreparedSyscall, place: int = 0) -> None:
        """Notes that this argument of the call is the output pipe."""
        self._output.append((call, place))

    def set_descriptors(self, channel: int, output: int) -> None:
        """Uses these descriptors for the next child.

        Raises:
            OSError: they collide with the child's own numbers; never happens while the template keeps its low numbers
                occupied.
        """
        if self._current_descriptors == (channel, output):
            return  # the usual case: the template closes the descriptors it passed on, so it gets the same numbers again
        if output <= CHANNEL or channel <= CHANNEL:
            raise OSError(9, "descriptors collide")
        for slots, fd in ((self._channel, channel), (self._output, output)):
            for call, place in slots:
                call.args[place] = fd
        self._current_descriptors = channel, output


class ChildSealer:
    """Makes seals from the plan; holds what all of them share."""

    def __init__(self, steps: list[dict[str, Any]], filters: dict[str, bytes], walker: SyscallWalker) -> None:
        self._steps, self._walker = steps, walker
        self._filters = {name: seccomp.PreparedFilter(program) for name, program in filters.items()}
        self._abi = landlock.read_abi()
        # A descriptor number reserved for the ruleset, so that the calls which use it can be prepared before it exists.
        self._ruleset = landlock.open_path("/")
        self._shared = [rule for step in steps for rule in self._make_shared_rules(step.get("shared", ()))]
        self._identity = os.geteuid(), os.getegid()  # read now: later, in a new user namespace, both are the overflow id
        self._ready: dict[bytes, ChildSeal] = {}

    def prepare_seal(self, key: bytes, values: dict[str, Any]) -> ChildSeal:
        """Returns the calls for a child with these values, preparing them if needed; ``key`` identifies the values."""
        found = self._ready.get(key)
        if found is None:
            if len(self._ready) >= MOST_KEPT_SEALS:
                del self._ready[next(iter(self._ready))]
            found = self._ready[key] = self._prepare_calls(values)
        return found

    def find_prepared_seal(self, key: bytes) -> ChildSeal | None:
        """Returns the calls for ``key`` if they were prepared before, otherwise None."""
        return self._ready.get(key)

    def fork_sealed_child(self, seal: ChildSeal, end: int | None) -> int:
        """Forks a process that makes the calls up to ``end``; returns -pid or FORK_FAILED, and in the child where it stopped."""
        return self._walker.fork(seal.batch.call_address(0), seal.batch.call_address(end), kernel.FORK_ADDRESS)

    def continue_sealing(self, seal: ChildSeal, first: int) -> None:
        """Continues sealing this process.

        Raises:
            KernelRefused: a call failed; the caller must exit.
        """
        seal.batch.walk(self._walker, first)

    def _prepare_calls(self, values: dict[str, Any]) -> ChildSeal:
        seal = ChildSeal()
        for step in self._steps:
            seal.batch.step = f"child step {step['do']}"
            arguments: dict[str, Any] = {
                k: values[v[1:]] if isinstance(v, str) and v[:1] == "$" else v for k, v in step.items() if k != "do"
            }
            if step["do"] == "landlock":
                own = [(values[path[1:]] if path[:1] == "$" else path, access) for path, access in arguments["own"]]
                self._add_landlock_calls(seal, own)
            elif step["do"] == "seccomp":
                seal.batch.add("seccomp", 1, 0, self._filters[arguments["filter"]].header)
            elif step["do"] == "enter_user":
                _enter_user_namespace(seal, *self._identity, **arguments)
            else:
                _STEPS[step["do"]](seal, **arguments)
        return seal

    def _add_landlock_calls(self, seal: ChildSeal, own: list[tuple[str, str]]) -> None:
        batch, ruleset = seal.batch, self._ruleset
        made = batch.add(
            "landlock_create_ruleset", landlock.make_handled_rights(self._abi), landlock.get_handled_size(self._abi), 0
        )
        batch.store_result_at(made, batch.argument_address(batch.add("dup3", -1, ruleset, os.O_CLOEXEC), 0))
        for rule in self._shared:
            batch.add("landlock_add_rule", ruleset, 1, rule, 0)
        for path, access in own:
            rule = landlock.LandlockRule(landlock.resolve_rights(access, self._abi), -1)
            # A path that does not exist (in a masked /proc) needs no permission. Without a rule it stays closed.
            opened = batch.add("openat", AT_FDCWD, path, os.O_PATH | os.O_CLOEXEC, on_error_go_on=True)
            opened.on_error = 2 * opened.on_ok
            batch.store_result_at(opened, ctypes.addressof(rule) + landlock.LandlockRule.fd.offset)
            batch.add("landlock_add_rule", ruleset, 1, rule, 0)
        batch.add("landlock_restrict_self", ruleset, 0)

    def _make_shared_rules(self, paths: list[tuple[str, str]]) -> list[landlock.LandlockRule]:
        found: list[landlock.LandlockRule] = []
        for path, access in paths:
            try:
                found.append(landlock.make_rule(landlock.open_path(path), access, self._abi))
            except FileNotFoundError:
                continue  # a device that the host lacks
        return found


def _await_admission(seal: ChildSeal) -> None:
    """Waits until the host has put the child under its limits: no memory is used for the program before that."""
    seal.fill_channel_into(seal.batch.add("read", -1, ctypes.create_string_buffer(1), 1, want=1))


def _change_folder(seal: ChildSeal, path: str) -> None:
    seal.batch.add("chdir", path)


def _close_other_descriptors(seal: ChildSeal) -> None:
    """Closes every descriptor but the four that a child keeps."""
    seal.batch.add("close_range", CHANNEL + 1, 0x7FFFFFFF, 0)


def _cover_path(seal: ChildSeal, path: str) -> None:
    seal.batch.add("mount", *mounts.make_cover_arguments(path))


def _place_descriptors(seal: ChildSeal) -> None:
    """Makes stdin empty, sends stdout and stderr to the host's pipe, and puts the channel at its fixed number."""
    batch = seal.batch
    nothing = batch.add("openat", AT_FDCWD, "/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    batch.store_result_at(nothing, batch.argument_address(batch.add("dup3", -1, 0, 0), 0))
    for fd in (1, 2):
        seal.fill_output_into(batch.add("dup3", -1, fd, 0))
    seal.fill_channel_into(batch.add("dup3", -1, CHANNEL, os.O_CLOEXEC))


def _die_with_parent(seal: ChildSeal) -> None:
    seal.batch.add("prctl", kernel.PR_SET_PDEATHSIG, 9, 0, 0, 0)


def _drop_capabilities(seal: ChildSeal) -> None:
    seal.batch.add("capset", namespaces.CAP_HEADER, namespaces.NO_CAPS)


def _enter_user_namespace(seal: ChildSeal, uid: int, gid: int, inside: int) -> None:
    batch = seal.batch
    batch.add("unshare", namespaces.FLAGS["user"])
    for name, text in (("setgroups", "deny"), ("gid_map", f"{inside} {gid} 1\n"), ("uid_map", f"{inside} {uid} 1\n")):
        opened = batch.add("openat", AT_FDCWD, f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        batch.store_result_at(opened, batch.argument_address(batch.add("write", -1, text, len(text), want=len(text)), 0))


def _leave_to_child(seal: ChildSeal, command: list[str], env: dict[str, str]) -> None:
    """Prepares nothing: the child itself becomes the program, after all calls."""


def _mark_worker_fork(seal: ChildSeal) -> None:
    """Marks where a session forks: its code runs in a second process, so that the first outlives it; both are sealed alike."""
    seal.worker_at = len(seal.batch)


def _close_template_socket(seal: ChildSeal) -> None:
    """Closes the template's socket to the host: while a child held it, the host could not notice that the template has ended."""
    seal.batch.add("close", CHANNEL)  # the same number, until the channel takes it


def _mount_proc_or_nothing(seal: ChildSeal) -> None:
    """Mounts a fresh /proc, or else an empty folder: never a /proc that shows the host's processes."""
    seal.batch.add("mount", *mounts.PROC_MOUNT, skip_on_ok=1, on_error_go_on=True)
    _cover_path(seal, "/proc")


def _bind_again(seal: ChildSeal, source: str, target: str) -> None:
    seal.batch.add("mount", source, target, None, mounts.MS_BIND, None)


def _mount_scratch(seal: ChildSeal, path: str, megabytes: int, files: int, executable: bool = True) -> None:
    """Mounts a fresh tmpfs with a size limit and a file limit; it holds tmp, shm and the private workspace."""
    options = f"mode=755,size={megabytes}m,nr_inodes={files + 5}"
    flags = mounts.MS_NOSUID | mounts.MS_NODEV | (0 if executable else mounts.MS_NOEXEC)
    seal.batch.add("mount", "scratch", path, "tmpfs", flags, options)
    for name in ("tmp", "shm", "workspace"):
        seal.batch.add("mkdirat", AT_FDCWD, f"{path}/{name}", 0o777)


def _set_limits(seal: ChildSeal, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        seal.batch.add(
            "prlimit64", 0, rlimits.RLIMIT_NUMBERS[name], (ctypes.c_uint64 * 2)(*rlimits.make_limit_pair(name, value)), None
        )


def _unblock_signals(seal: ChildSeal) -> None:
    """Unblocks all signals for the code; the template blocks SIGCHLD, which it reads from a descriptor."""
    seal.batch.add("rt_sigprocmask", 2, ctypes.c_uint64(0), None, 8)


def _unshare_namespaces(seal: ChildSeal, names: list[str]) -> None:
    seal.batch.add("unshare", sum(namespaces.FLAGS[name] for name in names))


_STEPS: dict[str, Callable[..., None]] = {
    "await_admission": _await_admission,
    "chdir": _change_folder,
    "close_others": _close_other_descriptors,
    "cover": _cover_path,
    "descriptors": _place_descriptors,
    "die_with_parent": _die_with_parent,
    "drop_capabilities": _drop_capabilities,
    "exec_program": _leave_to_child,
    "fork_worker": _mark_worker_fork,
    "hang_up": _close_template_socket,
    "proc_or_nothing": _mount_proc_or_nothing,
    "rebind": _bind_again,
    "scratch": _mount_scratch,
    "set_limits": _set_limits,
    "unblock_signals": _unblock_signals,
    "unshare": _unshare_namespaces,
}
