"""The template's steps by name: what the launcher may be asked to do, and nothing else."""

import os
from collections.abc import Callable

from gristmill.sandbox.linux import mounts, namespaces, rlimits


class StepFailed(Exception):
    """The launch ends here; the message names the step and what the kernel said."""


def walk(steps: list[dict[str, object]], actions: dict[str, Callable[..., object]]) -> None:
    """Do each step in order.

    Raises:
        StepFailed: on the first that fails; nothing after it was done.
    """
    for number, step in enumerate(steps, 1):
        arguments = {key: value for key, value in step.items() if key != "do"}
        try:
            actions[str(step["do"])](**arguments)
        except OSError as error:
            named = ", ".join(f"{key}={value}" for key, value in arguments.items() if isinstance(value, str | int))
            raise StepFailed(f"step {number}, {step['do']}({named}): {error.strerror or error}") from error


def cover_packages(library: str) -> None:
    """Hide the packages installed for the host's own use: code gets those it was given, nothing else."""
    for name in ("site-packages", "dist-packages"):
        if mounts.is_folder(f"{library}/{name}"):
            mounts.cover(f"{library}/{name}")


def new_pid_namespace() -> None:
    """Go on as pid 1 of a new pid namespace; the old self only waits and passes the end on."""
    namespaces.unshare(["pid"])
    child = os.fork()
    if child:
        # Whatever ends first takes the other along: the kernel by PDEATHSIG downwards, we by waiting upwards.
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def exec_template(executable: str, mill: str, env: dict[str, str]) -> None:
    """Become the template: a clean interpreter with no environment but its own."""
    script = f"{mill}/gristmill/sandbox/linux/template/fork_template.py"
    os.execve(executable, [executable, "-I", "-S", "-B", "-X", "utf8", script], env)


TEMPLATE_STEPS: dict[str, Callable[..., object]] = {
    "become": namespaces.become,
    "bind": mounts.bind,
    "bind_device": mounts.bind_device,
    "bind_proc": mounts.bind_proc,
    "cover_packages": cover_packages,
    "die_with_parent": namespaces.die_with_parent,
    "enter_user": namespaces.enter_user,
    "exec_template": exec_template,
    "file": mounts.file,
    "folder": mounts.folder,
    "forget_old_root": mounts.forget_old_root,
    "fresh_proc": mounts.fresh_proc,
    "new_pid_namespace": new_pid_namespace,
    "new_root": mounts.new_root,
    "seal_root": mounts.seal_root,
    "set_hostname": namespaces.set_hostname,
    "symlink": mounts.symlink,
    "thread_stacks": rlimits.thread_stacks,
    "unshare": namespaces.unshare,
}
