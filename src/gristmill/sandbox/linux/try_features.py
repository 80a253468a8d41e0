"""Run by the kernel probe in a process of its own: tries each kernel feature and prints the outcomes as JSON."""

import json
import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux"))

from gristmill.sandbox.linux import kernel, landlock, mounts, namespaces
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from gristmill.sandbox.linux.seccomp import syscall_filters as filters


def try_in_child(action: Callable[[], None]) -> str | None:
    """Runs ``action`` in a child process; returns None if it worked, otherwise the kernel's reason."""
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
    """Mounts something in a new user namespace: such a namespace may be granted and still be useless (AppArmor)."""
    if os.geteuid() == 0:
        namespaces.become_user(65_534, 65_534)
    namespaces.enter_user_namespace(0)
    namespaces.unshare(["mount", "pid", "ipc", "uts", "net", "cgroup"])
    mounts.enter_new_root("64k")
    mounts.bind_proc()
    # Children need /proc to map their user; with a container's masked /proc no complete one can be mounted.
    if (refusal := try_in_child(try_proc)) is not None:
        raise OSError(1, refusal)
    mounts.seal_root()
    mounts.cover_path("/")
    namespaces.drop_capabilities()
    kernel.make_syscall("close_range", 100, 0x7FFFFFFF, 0)
    os.close(os.pidfd_open(os.getpid()))


def try_proc() -> None:
    """Mounts a fresh /proc; run by the first process of a new pid namespace."""
    if not mounts.mount_fresh_proc():
        raise OSError(1, "a /proc of its own is refused (the /proc of this container is masked)")


def try_landlock() -> None:
    """Restricts itself to reading one folder, and checks that another one is refused."""
    namespaces.forbid_new_privileges()
    landlock.restrict_process([landlock.make_rule(landlock.open_path("/proc"), "read", landlock.read_abi())], landlock.read_abi())
    try:
        os.listdir("/usr")
    except PermissionError:
        return
    raise OSError(1, "Landlock does not restrict")


def try_seccomp() -> None:
    """Installs the filter that programs run under, and checks that it refuses a call."""
    namespaces.forbid_new_privileges()
    seccomp.install_filter(filters.build_code_filter("namespaces"))
    try:
        kernel.make_syscall("unshare", 0)
    except kernel.KernelRefused:
        return
    raise OSError(1, "seccomp does not filter")


if __name__ == "__main__":
    trials = {"namespaces": try_namespaces, "landlock": try_landlock, "seccomp": try_seccomp}
    print(
        json.dumps(
            {"features": {name: try_in_child(action) for name, action in trials.items()}, "landlock_abi": landlock.read_abi()}
        )
    )
