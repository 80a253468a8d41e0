"""The template's steps by name: these actions, and no others, can be ordered from the launcher."""

import os
from collections.abc import Callable

from gristmill.sandbox.linux import mounts, namespaces, rlimits


class StepFailed(Exception):
    """The launch ends here; the message names the step and the kernel's reason."""


def walk_steps(steps: list[dict[str, object]], actions: dict[str, Callable[..., object]]) -> None:
    """Does each step in order.

    Raises:
        StepFailed: a step failed; no step after it was done.
    """
    for number, step in enumerate(steps, 1):
        arguments = {key: value for key, value in step.items() if key != "do"}
        try:
            actions[str(step["do"])](**arguments)
        except OSError as error:
            named = ", ".join(f"{key}={value}" for key, value in arguments.items() if isinstance(value, str | int))
            raise StepFailed(f"step {number}, {step['do']}({named}): {error.strerror or error}") from error


def cover_packages(library: str) -> None:
    """Hides the packages that are installed for the host's own use: code gets only the packages that were configured for it."""
    for name in ("site-packages", "dist-packages"):
        if mounts.is_folder(f"{library}/{name}"):
            mounts.cover_path(f"{library}/{name}")


def enter_new_pid_namespace() -> None:
    """Continues as pid 1 of a new pid namespace; the old process only waits and passes the exit code on."""
    namespaces.unshare(["pid"])
    child = os.fork()
    if child:
        # Either process ends with the other: the kernel kills the child by PDEATHSIG, and the parent waits for the child.
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def exec_template(executable: str, mill: str, env: dict[str, str]) -> None:
    """Becomes the template: a clean interpreter with no environment variables but those of the plan."""
    script = f"{mill}/gristmill/sandbox/linux/template/fork_template.py"
    os.execve(executable, [executable, "-I", "-S", "-B", "-X", "utf8", script], env)


TEMPLATE_STEPS: dict[str, Callable[..., object]] = {
    "become": namespaces.become_user,
    "bind": mounts.bind_path,
    "bind_device": mounts.bind_device,
    "bind_proc": mounts.bind_proc,
    "cover_packages": cover_packages,
    "die_with_parent": namespaces.die_with_parent,
    "enter_user": namespaces.enter_user_namespace,
    "exec_template": exec_template,
    "file": mounts.write_file,
    "folder": mounts.make_folder,
    "forget_old_root": mounts.forget_old_root,
    "fresh_proc": mounts.mount_fresh_proc,
    "new_pid_namespace": enter_new_pid_namespace,
    "new_root": mounts.enter_new_root,
    "seal_root": mounts.seal_root,
    "set_hostname": namespaces.set_hostname,
    "symlink": mounts.make_symlink,
    "thread_stacks": rlimits.set_thread_stacks,
    "unshare": namespaces.unshare,
}
