"""The jail as data: order matters, so the order is stated."""

from gristmill.model import Limits
from gristmill.sandbox.jail_layout import JailLayout
from gristmill.sandbox.jail_plan import JailSpec, JailStep, make_child_values, plan_jail

LAYOUT = JailLayout(
    binds=(("/host/python/lib", "/opt/python/lib"), ("/host/gristmill/guest", "/opt/gristmill/gristmill/guest")),
    links=(("usr/lib", "/lib"),),
    executable="/opt/python/bin/python3.11",
    library="/opt/python/lib/python3.11",
    site="/opt/site",
    mill="/opt/gristmill",
)


def spec(level: str, *, as_root: bool) -> JailSpec:
    assert level in ("namespaces", "landlock")
    return JailSpec(level=level, layout=LAYOUT, as_root=as_root, uid=65534, gid=65534, workspaces="/host/state")  # pyright: ignore[reportArgumentType]


def names(steps: tuple[JailStep, ...]) -> list[str]:
    return [step.do for step in steps]


def test_the_template_as_a_user() -> None:
    assert names(plan_jail(spec("namespaces", as_root=False)).template) == [
        "die_with_parent", "enter_user", "unshare", "new_root", "bind", "bind", "symlink", "cover_packages", "file", "file",
        "bind_device", "bind_device", "bind_device", "bind_device", "bind_device", "symlink", "symlink", "file", "file", "file", "file",
        "folder", "folder", "folder", "folder", "bind", "bind_proc", "forget_old_root", "new_pid_namespace", "die_with_parent",
        "fresh_proc", "seal_root", "set_hostname", "thread_stacks", "exec_template",
    ]  # fmt: skip


def test_root_builds_the_tree_before_it_gives_root_up() -> None:
    steps = names(plan_jail(spec("namespaces", as_root=True)).template)
    assert steps.index("forget_old_root") < steps.index("become") < steps.index("enter_user") < steps.index("new_pid_namespace")


def test_a_child_is_sealed_in_this_order() -> None:
    assert names(plan_jail(spec("namespaces", as_root=True)).child) == [
        "die_with_parent", "hang_up", "unblock_signals", "await_admission", "unshare", "scratch", "rebind", "rebind", "cover",
        "proc_or_nothing", "chdir", "descriptors", "enter_user", "set_limits", "drop_capabilities", "fork_worker", "landlock", "close_others", "seccomp",
    ]  # fmt: skip


def test_without_namespaces_a_child_is_still_sealed() -> None:
    assert names(plan_jail(spec("landlock", as_root=False)).child) == [
        "die_with_parent", "hang_up", "unblock_signals", "await_admission", "chdir", "descriptors", "set_limits", "landlock", "close_others", "seccomp",
    ]  # fmt: skip


def test_only_workspaces_are_bound_writable() -> None:
    binds = [step.with_ for step in plan_jail(spec("namespaces", as_root=True)).template if step.do == "bind"]
    assert [bind["target"] for bind in binds if bind.get("writable")] == ["/run/workspaces"]


def test_our_own_code_is_not_readable_for_the_agents_code() -> None:
    (step,) = (step for step in plan_jail(spec("namespaces", as_root=True)).child if step.do == "landlock")
    assert [path for path, _ in step.with_["shared"] if path.startswith("/opt/gristmill")] == []


def test_the_environment_is_a_closed_list() -> None:
    (step,) = (step for step in plan_jail(spec("namespaces", as_root=True)).template if step.do == "exec_template")
    assert set(step.with_["env"]) == {
        "HOME", "LANG", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
        "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "TMPDIR", "TZ", "USER",
    }  # fmt: skip


def test_data_stays_a_little_below_the_group_so_that_a_program_meets_memory_error_first() -> None:
    values = make_child_values(Limits(memory_mb=256), base_data=1_000, level="namespaces")
    assert values["rlimits"]["data"] == 1_000 + (240 << 20)
    assert values["rlimits"]["nproc"] == 64
    assert "nproc" not in make_child_values(Limits(), base_data=0, level="landlock")["rlimits"]


def test_the_plan_can_be_read() -> None:
    text = str(plan_jail(spec("namespaces", as_root=True)))
    assert text.startswith("template, once per pool\n   1. die_with_parent")
    assert "seccomp               filter=seal" in text
