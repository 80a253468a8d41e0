"""Run by the probe in a process of its own: try each kernel feature, print what came of it as JSON."""

import json
import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux"))

from gristmill.sandbox.linux import kernel, landlock, mounts, namespaces
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from gristmill.sandbox.linux.seccomp import syscall_filters as filters


def attempt(action: Callable[[], None]) -> str | None:
    """Do it in a child; None if it worked, else what the kernel said."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
        except OSError as error:
            os.write(write, str(error.args[-1]).encode())
            os._exit(1)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as said:
        text = said.read().decode()
    return None if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else text or "the trial process died"


def try_namespaces() -> None:
    """A user namespace may be granted and still be worth nothing (AppArmor): mount something in it."""
    if os.geteuid() == 0:
        namespaces.become(65_534, 65_534)
    namespaces.enter_user(0)
    namespaces.unshare(["mount", "pid", "ipc", "uts", "net", "cgroup"])
    mounts.new_root("64k")
    mounts.bind_proc()
    # Children need it to map their user; a container's masked /proc lets nobody mount a whole one.
    if (refusal := attempt(mount_proc)) is not None:
        raise OSError(1, refusal)
    mounts.seal_root()
    mounts.cover("/")
    namespaces.drop_capabilities()
    kernel.call("close_range", 100, 0x7FFFFFFF, 0)
    os.close(os.pidfd_open(os.getpid()))


def mount_proc() -> None:
    """Tried by the first process of a new pid namespace."""
    if not mounts.fresh_proc():
        raise OSError(1, "a /proc of its own is refused (that of this container is masked)")


def try_landlock() -> None:
    """Restrict to reading one folder, and see a write elsewhere refused."""
    namespaces.no_new_privileges()
    landlock.restrict([landlock.rule(landlock.open_path("/proc"), "read", landlock.abi())], landlock.abi())
    try:
        os.listdir("/usr")
    except PermissionError:
        return
    raise OSError(1, "Landlock does not restrict")


def try_seccomp() -> None:
    """Install the real filter."""
    namespaces.no_new_privileges()
    seccomp.install(filters.code_filter("namespaces"))
    try:
        kernel.call("unshare", 0)
    except kernel.KernelRefused:
        return
    raise OSError(1, "seccomp does not filter")


if __name__ == "__main__":
    trials = {"namespaces": try_namespaces, "landlock": try_landlock, "seccomp": try_seccomp}
    print(json.dumps({"features": {name: attempt(action) for name, action in trials.items()}, "landlock_abi": landlock.abi()}))
