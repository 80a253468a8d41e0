"""The steps of a plan by name: what the launcher and the template may be asked to do, and nothing else."""

import os
from collections.abc import Callable
from typing import Any

from gristmill.sandbox.linux import kernel, landlock, mounts, namespaces, rlimits, seccomp

CHANNEL = 3
"""The one descriptor, beside the three standard ones, that a child keeps."""


class StepFailed(Exception):
    """The launch ends here; the message names the step and what the kernel said."""


def walk(steps: list[dict[str, Any]], actions: dict[str, Callable[..., object]]) -> None:
    """Do each step in order.

    Raises:
        StepFailed: on the first that fails; nothing after it was done.
    """
    for number, step in enumerate(steps, 1):
        arguments = {key: value for key, value in step.items() if key != "do"}
        try:
            actions[step["do"]](**arguments)
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
    script = f"{mill}/gristmill/sandbox/linux/zygote.py"
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


def descriptors(channel: int, output: int) -> None:
    """Stdin reads nothing, stdout and stderr go to the host's pipe, the channel sits at a fixed number."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    if output == CHANNEL or channel in (1, 2):  # never happens while the template keeps its own low numbers occupied
        raise OSError(9, "descriptors collide")
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(channel, CHANNEL, inheritable=False)


def close_others() -> None:
    """Close everything that is not one of the four."""
    kernel.call("close_range", CHANNEL + 1, 0x7FFFFFFF, 0)


_OWN_VALUES = {"descriptors": ("channel", "output"), "await_admission": ("channel",), "fork_worker": ("house",)}
"""Steps that need what only the single child knows."""


class ChildSteps:
    """A child's steps, prepared once in the template: what can be opened or assembled ahead is."""

    def __init__(self, steps: list[dict[str, Any]], filters: dict[str, bytes], landlock_abi: int) -> None:
        self._filters = {name: seccomp.Prepared(program) for name, program in filters.items()}
        self._abi = landlock_abi
        self._shared: list[landlock.Rule] = []
        self._steps = [(self._action(step["do"]), {k: v for k, v in step.items() if k != "do"}, step["do"]) for step in steps]
        for _, arguments, do in self._steps:
            if do == "landlock":
                self._shared = self._rules(arguments.pop("shared"))

    def walk(self, values: dict[str, Any]) -> None:
        """Seal this process. ``values`` fills in what the plan left open.

        Raises:
            StepFailed: on the first step that fails; the caller must exit.
        """
        for action, arguments, do in self._steps:
            try:
                if do in _OWN_VALUES:
                    action(*(values[name] for name in _OWN_VALUES[do]))
                elif do == "landlock":
                    action([(values[p[1:]] if p[0] == "$" else p, access) for p, access in arguments["own"]])
                else:
                    action(**{k: values[v[1:]] if isinstance(v, str) and v[:1] == "$" else v for k, v in arguments.items()})
            except OSError as error:
                raise StepFailed(f"child step {do}: {error.strerror or error}") from error

    def _action(self, do: str) -> Callable[..., object]:
        return {
            "await_admission": _await_admission,
            "chdir": os.chdir,
            "close_others": close_others,
            "cover": mounts.cover,
            "descriptors": descriptors,
            "die_with_parent": namespaces.die_with_parent,
            "drop_capabilities": namespaces.drop_capabilities,
            "enter_user": namespaces.enter_user,
            "fork_worker": _fork_worker,
            "landlock": self._landlock,
            "proc_or_nothing": mounts.proc_or_nothing,
            "rebind": mounts.rebind,
            "scratch": mounts.scratch,
            "seccomp": self._seccomp,
            "set_limits": rlimits.set_limits,
            "unshare": namespaces.unshare,
        }[do]

    def _landlock(self, own: list[tuple[str, str]]) -> None:
        landlock.restrict(self._shared + self._rules(own), self._abi)

    def _rules(self, paths: list[tuple[str, str]]) -> list[landlock.Rule]:
        found: list[landlock.Rule] = []
        for path, access in paths:
            try:
                found.append(landlock.rule(landlock.open_path(path), access, self._abi))
            except FileNotFoundError:
                continue  # what is not there needs no permission: a masked /proc, a device that the host lacks
        return found

    def _seccomp(self, filter: str) -> None:  # noqa: A002 - the word in the plan
        seccomp.install(self._filters[filter])


def _await_admission(channel: int) -> None:
    """Wait until the host has put us under its limits: not a page is touched for the agent before."""
    if os.read(channel, 1) != b"+":
        os._exit(0)


def _fork_worker(house: dict[str, int]) -> None:
    """A session's code runs in a second process, so that the first can outlive it and its branches; both are sealed alike."""
    if house["wanted"]:
        house["worker"] = os.fork()
