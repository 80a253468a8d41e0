"""The jail as data: ordered steps for the template and for each child. Pure; the launcher walks them and dies on the first
that fails. Nothing here touches the kernel: `gristmill doctor --plan` prints it and a snapshot test reads it."""

from collections.abc import Mapping
from typing import Any

from gristmill.model import Isolation, Limits
from gristmill.sandbox.jail_layout import Layout, version
from gristmill.values import dataclass

SCRATCH, WORKSPACES = "/run/scratch", "/run/workspaces"
DEVICES = ("null", "zero", "full", "random", "urandom")
HOST_NAME, INSIDE_ID = "gristmill", 1000
ETC = {
    "/etc/passwd": "agent:x:1000:1000::/workspace:/bin/false\n",
    "/etc/group": "agent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
THREAD_STACK = 1 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, by name, with its arguments. ``$name`` stands for a value of the single execution."""

    do: str
    with_: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.do:<22}" + "  ".join(f"{key}={_short(value)}" for key, value in self.with_.items())


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str) and not value.isprintable() else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def step(do: str, **with_: Any) -> Step:
    """A step, written as a call."""
    return Step(do, with_)


@dataclass(frozen=True, slots=True, kw_only=True)
class JailSpec:
    """What the plan depends on."""

    level: Isolation
    layout: Layout
    as_root: bool
    uid: int
    gid: int
    workspaces: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``template`` is walked once per pool, ``child`` once per execution."""

    template: tuple[Step, ...]
    child: tuple[Step, ...]

    def __str__(self) -> str:
        parts = (("template, once per pool", self.template), ("child, once per execution", self.child))
        return "\n".join(f"{title}\n" + "\n".join(f"  {n:>2}. {s}" for n, s in enumerate(steps, 1)) for title, steps in parts)


def plan(spec: JailSpec) -> Plan:
    """The steps for ``spec``."""
    if spec.level == "landlock":
        return Plan(template=_landlock_template(spec), child=_landlock_child(spec))
    return Plan(template=_template(spec), child=_child(spec))


def requested(limits: Limits, *, base_data: int, level: Isolation) -> dict[str, Any]:
    """The values of one execution that the child's steps ask for. ``base_data`` is what the template itself occupies."""
    memory = limits.memory_mb << 20
    rlimits = {
        "core": 0,
        "cpu": max(1, round(limits.cpu_seconds)),
        # A little below the cgroup, so that a greedy program meets MemoryError before the kernel's SIGKILL.
        "data": base_data + memory * 15 // 16,
        "fsize": limits.file_mb << 20,
        "memlock": 0,
        "msgqueue": 0,
        "nofile": limits.open_files,
    }
    if level == "namespaces":  # without a user namespace the kernel would count the service's own processes too
        rlimits["nproc"] = limits.processes
    return {"rlimits": rlimits, "workspace_mb": limits.workspace_mb, "workspace_files": limits.workspace_files}


def _template(spec: JailSpec) -> tuple[Step, ...]:
    others = ["mount", "ipc", "uts", "net"]
    enter = [step("enter_user", inside=0), step("unshare", names=others)]
    # Changing the user makes the kernel forget whom to die with.
    leave_root = [step("become", uid=spec.uid, gid=spec.gid), step("die_with_parent"), *enter]
    return (
        step("die_with_parent"),
        # Root builds the tree while it still is root: only it can name sources below folders closed to others.
        *([step("unshare", names=others)] if spec.as_root else enter),
        step("new_root", size="2m"),
        *(step("bind", source=source, target=target) for source, target in spec.layout.binds),
        *(step("symlink", target=target, path=path) for target, path in spec.layout.links),
        step("cover_packages", library=spec.layout.library),
        *(step("file", path=f"{spec.layout.mill}/gristmill/{part}__init__.py", text="") for part in ("", "sandbox/")),
        *(step("bind_device", name=name) for name in DEVICES),
        step("symlink", target="/proc/self/fd", path="/dev/fd"),
        step("symlink", target=f"{SCRATCH}/shm", path="/dev/shm"),
        *(step("file", path=path, text=text) for path, text in ETC.items()),
        *(step("folder", path=path) for path in (SCRATCH, WORKSPACES, "/tmp", "/workspace")),
        *([step("bind", source=spec.workspaces, target=WORKSPACES, writable=True, executable=False)] if spec.workspaces else []),
        step("bind_proc"),
        step("forget_old_root"),
        *(leave_root if spec.as_root else []),
        step("new_pid_namespace"),
        step("die_with_parent"),
        step("fresh_proc"),
        step("seal_root"),
        step("set_hostname", name=HOST_NAME),
        step("thread_stacks", size=THREAD_STACK),
        step("exec_template", executable=spec.layout.executable, mill=spec.layout.mill, env=_environment(spec)),
    )


def _child(spec: JailSpec) -> tuple[Step, ...]:
    read = [*{target for _, target in spec.layout.binds if not target.startswith(spec.layout.mill)}, "/etc"]
    return (
        step("die_with_parent"),
        step("hang_up"),
        step("unblock_signals"),
        step("await_admission"),
        step("unshare", names=["mount", "ipc", "uts", "cgroup"]),
        step("scratch", path=SCRATCH, megabytes="$workspace_mb", files="$workspace_files"),
        step("rebind", source=f"{SCRATCH}/tmp", target="/tmp"),
        step("rebind", source="$workspace", target="/workspace"),
        step("cover", path=WORKSPACES),
        step("proc_or_nothing"),
        step("chdir", path="/workspace"),
        step("descriptors"),
        step("enter_user", inside=INSIDE_ID),
        step("set_limits", limits="$rlimits"),
        step("drop_capabilities"),
        step("fork_worker"),
        step(
            "landlock",
            shared=[["/", "list"], *([path, "execute"] for path in sorted(read))]
            + [[f"/dev/{name}", "device"] for name in DEVICES],
            # Of /proc only these: mountinfo would name the host's folders.
            own=[
                *([f"/proc/self/{name}", "file"] for name in ("status", "stat", "statm")),
                ["/tmp", "write"],
                ["/workspace", "write"],
                [f"{SCRATCH}/shm", "write"],
            ],
        ),
        step("close_others"),
        step("seccomp", filter="seal"),
    )


def _landlock_template(spec: JailSpec) -> tuple[Step, ...]:
    return (
        step("die_with_parent"),
        *([step("become", uid=spec.uid, gid=spec.gid), step("die_with_parent")] if spec.as_root else []),
        step("thread_stacks", size=THREAD_STACK),
        step("exec_template", executable=spec.layout.executable, mill=spec.layout.mill, env=_environment(spec)),
    )


def _landlock_child(spec: JailSpec) -> tuple[Step, ...]:
    read = sorted({target for _, target in spec.layout.binds if not target.startswith(spec.layout.mill + "/gristmill")})
    return (
        step("die_with_parent"),
        step("hang_up"),
        step("unblock_signals"),
        step("await_admission"),
        step("chdir", path="$workspace"),
        step("descriptors"),
        step("set_limits", limits="$rlimits"),
        step(
            "landlock",
            shared=[[path, "execute"] for path in read] + [[f"/dev/{name}", "device"] for name in DEVICES],
            own=[["$workspace", "write"], ["$tmp", "write"]],
        ),
        step("close_others"),
        step("seccomp", filter="code"),
    )


def _environment(spec: JailSpec) -> dict[str, str]:
    """All that code finds in ``os.environ``; one thread per numeric library, since the template may have no threads."""
    layout = spec.layout
    home = "/workspace" if spec.level == "namespaces" else "/nonexistent"
    return {
        "HOME": home,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": layout.library.removesuffix(f"/{version()}"),
        "MALLOC_ARENA_MAX": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": layout.executable.rpartition("/")[0],
        "PYTHONDONTWRITEBYTECODE": "1",
        **({"PYTHONPATH": layout.site} if layout.site else {}),
        **({"TMPDIR": "/tmp"} if spec.level == "namespaces" else {}),
        "TZ": "UTC",
        "USER": "agent",
    }
