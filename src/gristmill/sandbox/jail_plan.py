"""The jail as data: ordered steps for the template and for each child. The launcher does the steps and exits at the first that
fails. Nothing here calls the kernel: `gristmill doctor --plan` prints the plan, and a snapshot test reads it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gristmill.model import Isolation, Limits
from gristmill.sandbox.guest_programs import GuestProgram
from gristmill.sandbox.jail_layout import JailLayout, get_python_name

SCRATCH, WORKSPACES = "/run/scratch", "/run/workspaces"
DEVICES = ("null", "zero", "full", "random", "urandom")
HOST_NAME, INSIDE_ID = "gristmill", 1000
ETC = {
    "/etc/passwd": (
        "root:x:0:0::/root:/bin/false\nagent:x:1000:1000::/workspace:/bin/false\nnobody:x:65534:65534::/nonexistent:/bin/false\n"
    ),
    "/etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
THREAD_STACK = 1 << 20


class JailStep(Struct, frozen=True):
    """One action by name, with its arguments. An argument ``$name`` stands for a value that differs per execution."""

    do: str
    with_: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.do:<22}" + "  ".join(f"{key}={_shorten_value(value)}" for key, value in self.with_.items())


def _shorten_value(value: object) -> str:
    text = repr(value) if isinstance(value, str) and not value.isprintable() else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def make_step(do: str, **with_: Any) -> JailStep:
    """Makes a step from an action and its keyword arguments."""
    return JailStep(do, with_)


class JailSpec(Struct, frozen=True, kw_only=True):
    """The facts that the plan depends on."""

    level: Isolation
    layout: JailLayout
    as_root: bool
    uid: int
    gid: int
    workspaces: str | None
    program: GuestProgram | None = None
    """What a sealed child becomes in place of our Python guest."""


class JailPlan(Struct, frozen=True, kw_only=True):
    """The steps of a jail: ``template`` is done once per pool, ``child`` once per execution."""

    template: tuple[JailStep, ...]
    child: tuple[JailStep, ...]

    def __str__(self) -> str:
        parts = (("template, once per pool", self.template), ("child, once per execution", self.child))
        return "\n".join(f"{title}\n" + "\n".join(f"  {n:>2}. {s}" for n, s in enumerate(steps, 1)) for title, steps in parts)


def plan_jail(spec: JailSpec) -> JailPlan:
    """Plans the steps for ``spec``."""
    if spec.level == "landlock":
        return JailPlan(template=_plan_landlock_template(spec), child=_plan_landlock_child(spec))
    return JailPlan(template=_plan_template(spec), child=_plan_child(spec))


def make_child_values(
    limits: Limits, *, base_data: int, level: Isolation, keep: bool = False, threads: int = 0
) -> dict[str, Any]:
    """Returns the values of one execution that the child's steps refer to. ``base_data`` is the template's own data size.

    With ``keep`` the child outlives the execution: the kernel would count the CPU time of all executions together, so the host
    alone limits it. ``threads`` are those that the program in the jail needs for itself.
    """
    memory = limits.memory_mb << 20
    rlimits = {
        "core": 0,
        **({} if keep else {"cpu": max(1, round(limits.cpu_seconds))}),
        # A little below the cgroup's limit, so that a greedy program gets a MemoryError before the kernel's SIGKILL.
        "data": base_data + memory * 15 // 16,
        "fsize": limits.file_mb << 20,
        "memlock": 0,
        "msgqueue": 0,
        "nofile": limits.open_files,
    }
    if level == "namespaces":  # without a user namespace the kernel would also count the service's own processes
        rlimits["nproc"] = limits.processes + threads
    return {"rlimits": rlimits, "workspace_mb": limits.workspace_mb, "workspace_files": limits.workspace_files}


def _plan_template(spec: JailSpec) -> tuple[JailStep, ...]:
    others = ["mount", "ipc", "uts", "net"]
    enter = [make_step("enter_user", inside=0), make_step("unshare", names=others)]
    # After a change of user the kernel no longer kills this process with its parent, so the step is repeated.
    leave_root = [make_step("become", uid=spec.uid, gid=spec.gid), make_step("die_with_parent"), *enter]
    return (
        make_step("die_with_parent"),
        # Root builds the tree before it gives up root: only root can name sources below folders closed to other users.
        *([make_step("unshare", names=others)] if spec.as_root else enter),
        make_step("new_root", size="2m"),
        *(make_step("bind", source=source, target=target) for source, target in (*spec.layout.binds, *_list_program_binds(spec))),
        *(make_step("symlink", target=target, path=path) for target, path in spec.layout.links),
        make_step("cover_packages", library=spec.layout.library),
        *(make_step("file", path=f"{spec.layout.mill}/gristmill/{part}__init__.py", text="") for part in ("", "sandbox/")),
        *(make_step("bind_device", name=name) for name in DEVICES),
        make_step("symlink", target="/proc/self/fd", path="/dev/fd"),
        make_step("symlink", target=f"{SCRATCH}/shm", path="/dev/shm"),
        *(make_step("file", path=path, text=text) for path, text in ETC.items()),
        *(make_step("folder", path=path) for path in (SCRATCH, WORKSPACES, "/tmp", "/workspace")),
        *(
            [make_step("bind", source=spec.workspaces, target=WORKSPACES, writable=True, executable=False)]
            if spec.workspaces
            else []
        ),
        make_step("bind_proc"),
        make_step("forget_old_root"),
        *(leave_root if spec.as_root else []),
        make_step("new_pid_namespace"),
        make_step("die_with_parent"),
        make_step("fresh_proc"),
        make_step("seal_root"),
        make_step("set_hostname", name=HOST_NAME),
        make_step("thread_stacks", size=THREAD_STACK),
        make_step("exec_template", executable=spec.layout.executable, mill=spec.layout.mill, env=_make_environment(spec)),
    )


def _plan_child(spec: JailSpec) -> tuple[JailStep, ...]:
    read = [*{target for _, target in spec.layout.binds if not target.startswith(spec.layout.mill)}, "/etc"]
    if spec.program is not None:  # Python itself is of no use after the program has taken its place
        read = [*_list_program_paths(spec), "/etc"]
    return (
        make_step("die_with_parent"),
        make_step("hang_up"),
        make_step("unblock_signals"),
        make_step("await_admission"),
        make_step("unshare", names=["mount", "ipc", "uts", "cgroup"]),
        make_step(
            "scratch",
            path=SCRATCH,
            megabytes="$workspace_mb",
            files="$workspace_files",
            **({} if spec.program is None else {"executable": False}),
        ),
        make_step("rebind", source=f"{SCRATCH}/tmp", target="/tmp"),
        make_step("rebind", source="$workspace", target="/workspace"),
        make_step("cover", path=WORKSPACES),
        make_step("proc_or_nothing"),
        make_step("chdir", path="/workspace"),
        make_step("descriptors"),
        make_step("enter_user", inside=INSIDE_ID),
        make_step("set_limits", limits="$rlimits"),
        make_step("drop_capabilities"),
        make_step("fork_worker"),
        make_step(
            "landlock",
            shared=[["/", "list"], *([path, "execute"] for path in sorted(read))]
            + [[f"/dev/{name}", "device"] for name in DEVICES],
            # Only these files of /proc are open: mountinfo would name the host's folders.
            own=[
                *([f"/proc/self/{name}", "file"] for name in ("status", "stat", "statm")),
                ["/tmp", "write"],
                ["/workspace", "write"],
                [f"{SCRATCH}/shm", "write"],
            ],
        ),
        make_step("close_others"),
        *_plan_end(spec, "seal"),
    )


def _plan_landlock_template(spec: JailSpec) -> tuple[JailStep, ...]:
    return (
        make_step("die_with_parent"),
        *([make_step("become", uid=spec.uid, gid=spec.gid), make_step("die_with_parent")] if spec.as_root else []),
        make_step("thread_stacks", size=THREAD_STACK),
        make_step("exec_template", executable=spec.layout.executable, mill=spec.layout.mill, env=_make_environment(spec)),
    )


def _plan_landlock_child(spec: JailSpec) -> tuple[JailStep, ...]:
    read = sorted({target for _, target in spec.layout.binds if not target.startswith(spec.layout.mill + "/gristmill")})
    if spec.program is not None:
        read = sorted(_list_program_paths(spec))
    return (
        make_step("die_with_parent"),
        make_step("hang_up"),
        make_step("unblock_signals"),
        make_step("await_admission"),
        make_step("chdir", path="$workspace"),
        make_step("descriptors"),
        make_step("set_limits", limits="$rlimits"),
        make_step(
            "landlock",
            shared=[[path, "execute"] for path in read] + [[f"/dev/{name}", "device"] for name in DEVICES],
            own=[["$workspace", "write"], ["$tmp", "write"]],
        ),
        make_step("close_others"),
        *_plan_end(spec, "code"),
    )


def _plan_end(spec: JailSpec, filter_: str) -> tuple[JailStep, ...]:
    """Returns the last steps of a child: its filter of system calls, and the program that takes its place, if any."""
    if spec.program is None:
        return (make_step("seccomp", filter=filter_),)
    command, environment = spec.program.make_command(spec.level), make_program_environment(spec)
    return (make_step("seccomp", filter="program"), make_step("exec_program", command=command, env=environment))


def _list_program_binds(spec: JailSpec) -> tuple[tuple[str, str], ...]:
    return spec.program.list_binds(spec.level) if spec.program is not None else ()


def _list_program_paths(spec: JailSpec) -> set[str]:
    """Returns what the program may read and execute: itself, our script and the shared libraries."""
    libraries = {target for _, target in spec.layout.binds if target.startswith(("/usr/lib", "/lib"))}
    return {target for _, target in _list_program_binds(spec)} | libraries


def make_program_environment(spec: JailSpec) -> dict[str, str]:
    """Returns the environment variables of the program that takes a child's place."""
    home = {"HOME": "/workspace", "TMPDIR": "/tmp", "DENO_DIR": "/tmp/.deno"} if spec.level == "namespaces" else {}
    return {**home, "LANG": "C.UTF-8", "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1", "TZ": "UTC", "USER": "agent"}


def _make_environment(spec: JailSpec) -> dict[str, str]:
    """Returns all that code finds in ``os.environ``: one thread per numeric library, since the template may have no threads."""
    layout = spec.layout
    home = "/workspace" if spec.level == "namespaces" else "/nonexistent"
    return {
        "HOME": home,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": layout.library.removesuffix(f"/{get_python_name()}"),
        "MALLOC_ARENA_MAX": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": ":".join(filter(None, (layout.executable.rpartition("/")[0], layout.programs))),
        "PYTHONDONTWRITEBYTECODE": "1",
        **({"PYTHONPATH": layout.site} if layout.site else {}),
        **({"TMPDIR": "/tmp"} if spec.level == "namespaces" else {}),
        "TZ": "UTC",
        "USER": "agent",
    }
