"""Cgroups by version, on folders that stand in for the kernel's."""

import os
import subprocess
from pathlib import Path

import pytest

from gristmill.sandbox.linux import cgroups
from gristmill.sandbox.linux.dead_groups import release_locks

LIMITS = cgroups.GroupLimits(memory_bytes=1 << 28, processes=64, cpu_percent=50)


def kernel_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("0")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroups, "_read_own_paths", lambda: {"": "/me", "memory": "/me", "pids": "/me", "cpu": "/me"})
    return tmp_path


def test_version_1_is_used_when_every_controller_is_ours(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {name: str(host / name) for name in cgroups.CONTROLLERS})
    for name in cgroups.CONTROLLERS:
        (host / name / "me").mkdir(parents=True)
    hierarchy = cgroups.prepare_hierarchy("ours")
    assert (hierarchy.version, hierarchy.folders["memory"]) == ("v1", str(host / "memory/me/ours"))


def test_a_missing_controller_means_none_and_leaves_nothing_behind(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {name: str(host / name) for name in ("memory", "cpu")})
    (host / "memory/me").mkdir(parents=True)
    hierarchy = cgroups.prepare_hierarchy("ours")
    assert (hierarchy.version, hierarchy.reason) == ("none", "no cgroup controller for pids")
    assert list((host / "memory/me").iterdir()) == []


def test_version_2_moves_us_into_a_leaf_and_passes_controllers_on(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {"cgroup2": str(host)})
    own = host / "me"
    (own / "gristmill-host").mkdir(parents=True)
    (own / "cgroup.controllers").write_text("cpu memory pids io")
    kernel_files(own, "cgroup.subtree_control", "cgroup.procs")
    (own / "cgroup.procs").write_text("17 18")
    kernel_files(own / "gristmill-host", "cgroup.procs")
    real_mkdir = cgroups.os.mkdir

    def mkdir(path: str, mode: int = 0o777) -> None:
        real_mkdir(path, mode)
        kernel_files(Path(path), "cgroup.subtree_control")

    monkeypatch.setattr(cgroups.os, "mkdir", mkdir)
    hierarchy = cgroups.prepare_hierarchy("ours")
    assert (hierarchy.version, hierarchy.unique_folders()) == ("v2", [str(own / "ours")])
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert (own / "gristmill-host/cgroup.procs").read_text() == "18"


def test_version_2_that_is_not_delegated_means_none(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {"cgroup2": str(host)})
    (host / "me").mkdir()
    (host / "me/cgroup.controllers").write_text("cpu memory pids")
    (host / "me/cgroup.subtree_control").mkdir()  # cannot be written
    assert cgroups.prepare_hierarchy("ours").version == "none"


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        ("v1", ("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control", "cpu.cfs_period_us", "cpu.cfs_quota_us",
                "pids.max", "cgroup.procs"),
         {"memory.limit_in_bytes": "268435456", "cpu.cfs_quota_us": "10000", "pids.max": "640", "cgroup.procs": "123"}),
        ("v2", ("memory.max", "memory.peak", "memory.events", "cpu.max", "pids.max", "cgroup.procs"),
         {"memory.max": "268435456", "cpu.max": "10000 20000", "pids.max": "640", "cgroup.procs": "123"}),
    ],
)  # fmt: skip
def test_limits_are_written_before_the_process_is_admitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: cgroups.Version, files: tuple[str, ...], expected: dict[str, str]
) -> None:
    real_mkdir = cgroups.os.mkdir

    def mkdir(path: str, mode: int = 0o777) -> None:
        real_mkdir(path, mode)
        kernel_files(Path(path), *files)

    monkeypatch.setattr(cgroups.os, "mkdir", mkdir)
    group = cgroups.ControlGroup(cgroups.CgroupHierarchy(version, dict.fromkeys(cgroups.CONTROLLERS, str(tmp_path))), "run-1")
    (tmp_path / "run-1/pids.max").write_text("000")
    group.admit(123, LIMITS)
    found = {name: (tmp_path / "run-1" / name).read_text() for name in expected}
    assert found | {"pids.max": "640"} == expected
    assert found["pids.max"].startswith("64")


@pytest.mark.parametrize(
    ("mount", "file", "none"),
    [("cgroup2", "memory.max", "max"), ("memory", "memory.limit_in_bytes", str(1 << 62))],
)
def test_the_memory_that_we_may_use_is_the_least_of_our_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mount: str, file: str, none: str
) -> None:
    monkeypatch.setattr(cgroups, "_read_own_paths", lambda: {"": "/outer/inner", "memory": "/outer/inner"})
    monkeypatch.setattr(cgroups, "_read_mounts", dict)
    machine = cgroups.read_available_memory()
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {mount: str(tmp_path)})
    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "outer/inner" / file).write_text(none)
    assert cgroups.read_available_memory() == machine
    for folder, size in (("", 300 << 20), ("outer/inner", 200 << 20), ("outer", 100 << 20)):
        (tmp_path / folder / file).write_text(f"{size}\n")
        assert cgroups.read_available_memory() == size


@pytest.fixture
def parents(host: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(cgroups, "_read_mounts", lambda: {name: str(host / name) for name in cgroups.CONTROLLERS})
    found = [host / name / "me" for name in cgroups.CONTROLLERS]
    for folder in found:
        folder.mkdir(parents=True)
    return found


def find_dead_process() -> int:
    with subprocess.Popen(["true"]) as ended:
        pass
    return ended.pid


@pytest.mark.requirement("T81")
def test_groups_of_dead_gateways_are_removed_and_those_of_the_living_stay(parents: list[Path]) -> None:
    dead, living = f"gristmill-{find_dead_process()}-1", f"gristmill-{os.getppid()}-1"
    for parent in parents:
        (parent / dead / "run-1").mkdir(parents=True)
        for name in (living, "gristmill-host", "other", f"gristmill-{os.getpid()}-7"):
            (parent / name).mkdir()
    first = cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-1")
    second = cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-2")
    kept = {living, "gristmill-host", "other", f"gristmill-{os.getpid()}-1", f"gristmill-{os.getpid()}-2"}
    assert [set(os.listdir(parent)) for parent in parents] == [kept] * 3
    release_locks(first.locks)
    release_locks(second.locks)
    assert cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-3").version == "v1"
    assert [set(os.listdir(parent)) & kept for parent in parents] == [{living, "gristmill-host", "other"}] * 3


@pytest.mark.requirement("T81")
def test_a_group_that_still_holds_something_is_left_for_the_next_start(parents: list[Path]) -> None:
    dead = parents[0] / f"gristmill-{find_dead_process()}-1"
    dead.mkdir()
    (dead / "file").touch()  # stands for a process: the folder cannot be removed
    assert cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-1").version == "v1"
    assert dead.exists()


@pytest.mark.requirement("T81")
def test_a_group_that_another_gateway_takes_for_dead_is_not_used(parents: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_folders: object) -> None:
        return None

    monkeypatch.setattr(cgroups, "lock_groups", refuse)
    found = cgroups.prepare_hierarchy(f"gristmill-{os.getpid()}-1")
    assert (found.version, found.reason) == ("none", "another gateway removed our groups while they were made: start again")
    assert [os.listdir(parent) for parent in parents] == [[], [], []]
