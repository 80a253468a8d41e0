"""Posture: all that a run has, may and sees, counted from inside and from outside. Anything that is not on the list is red."""

import json
import os
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gristmill.sandbox.jails.jail import Jail
from gristmill.sandbox.jails.jail_pool import LinuxPool
from tests.attack.wall import Wall, everything, outside, wait_until

EXPECTED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("posture.json").read_text())
PROGRAM = (Path(__file__).parent / "programs" / "posture.py").read_text()
OF_THE_HOST = {"ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "zfs", "f2fs", "fuse.fuse-overlayfs", "virtiofs", "9p", "tmpfs"}
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


def _neutral_mount(line: str) -> tuple[str, list[str]]:
    """Where a line of mountinfo says something is, what it is and how, with the names of this host replaced."""
    left, right = line.split(" - ")
    point = _neutral_text(left.split()[4])
    kind, options = right.split()[0], sorted({"ro", "rw", "nosuid", "nodev", "noexec"} & set(left.split()[5].split(",")))
    if point.startswith(("/opt/", "/usr/", "/lib")) and kind in OF_THE_HOST and not point.endswith("-packages"):
        return point, ["HOST", *(option for option in options if option != "noexec")]
    if point.startswith("/dev/"):
        return point, ["devtmpfs", "rw"] if "rw" in options else [kind, *options]
    return point, [kind, *options]


def _neutral_text(text: str) -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    text = text.replace(f"{version.replace('.', '')}.zip", "ZIP").replace(version, "PYTHON")
    return text.replace(f"lib/{multiarch}", "lib/MULTIARCH")


def _neutral(seen: dict[str, Any]) -> dict[str, Any]:
    """What was seen with the names of this host replaced."""
    neutral = json.loads(_neutral_text(json.dumps(seen)))
    low, high = neutral["limits"]["RLIMIT_DATA"]
    assert 256 << 20 > low > 0 or high < 300 << 20
    neutral["limits"] |= {"RLIMIT_DATA": "BOUNDED", "RLIMIT_SIGPENDING": "HOST"}
    return neutral


@pytest.mark.requirement("T5")
def test_from_inside_a_run_has_exactly_what_is_listed(wall: Wall) -> None:
    outcome = wall.run(PROGRAM)
    assert outcome.status == "ok", outcome
    seen, expected = _neutral(outcome.result), dict(EXPECTED[wall.level])
    if wall.level == "landlock":
        seen["limits"]["RLIMIT_NPROC"] = "HOST"
        for folder in (
            "/workspace",
            "/sys",
            "/home",
            "/root",
            "/var",
            "/opt",
            "/run",
        ):  # whether it exists at all is the host's affair
            seen["folders"][folder] = expected["folders"][folder] if str(seen["folders"][folder]).endswith("Error") else "READ"
        del seen["hostname"], seen["identity"]
    seen.pop("namespaces")
    del expected["mounts"], expected["mounts_of_some_hosts"]
    seen["environment"] = [name for name in seen["environment"] if name != "LC_CTYPE"]
    assert seen == expected


@pytest.mark.requirement("T5")
def test_the_posture_program_notices_what_is_too_much() -> None:
    # The control: without a wall the same program sees more in every respect that is compared.
    lines = PROGRAM.rstrip().splitlines()
    start = lines.index("{")
    code = "\n".join(lines[:start]) + "\nimport json\nprint(json.dumps(" + "\n".join(lines[start:]) + "))"
    read, write = os.pipe()
    try:
        seen = _neutral_or_raw(outside(code))
    finally:
        os.close(read)
        os.close(write)
    expected = EXPECTED["namespaces"]
    for name in ("status", "limits", "environment", "identity", "uid_map", "folders", "proc", "path"):
        assert seen[name] != expected[name], name


def _neutral_or_raw(output: str) -> dict[str, Any]:
    return json.loads(output.strip().splitlines()[-1])


@pytest.mark.requirement("T5")
def test_a_descriptor_of_the_gateway_is_not_inherited(wall: Wall, tmp_path: Path) -> None:
    # Opened inheritable in the gateway before the next child is asked for.
    secret = tmp_path / "inherited"
    secret.write_text("inherited secret")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        for _ in range(4):
            assert sorted(wall.run(PROGRAM).result["descriptors"]) == ["0", "1", "2", "3"]
            assert "inherited secret" not in everything(
                wall.inside(
                    "import os\nreturn [os.pread(fd, 99, 0) for fd in range(3, 99) if os.path.exists(f'/proc/self/fd/{fd}')]"
                )
            )
    finally:
        os.close(fd)


def _waiting(wall: Wall) -> Jail:
    pool = wall.runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
    assert isinstance(pool, LinuxPool)
    wait_until(lambda: pool.warm_children > 0, "a child waits")
    return pool._warm[0]  # pyright: ignore[reportPrivateUsage]


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: " ".join(value.split()) for name, _, value in (line.partition(":") for line in lines)}


def _descriptors(pid: int) -> dict[str, str]:
    with suppress(FileNotFoundError):  # one was closed while we looked
        return {name: os.readlink(f"/proc/{pid}/fd/{name}").split(":")[0] for name in os.listdir(f"/proc/{pid}/fd")}
    return {}


@pytest.mark.requirement("T5", "T11", "T27")
def test_from_outside_a_waiting_child_has_exactly_what_is_listed(wall: Wall) -> None:
    handles = _waiting(wall).handles
    pid = handles.pid
    # Those next in line rehearse for some milliseconds, with a loop of their own; what stays open after that is what code finds.
    only = {"0": "/dev/null", "1": "pipe", "2": "pipe", "3": "socket"}
    wait_until(lambda: _descriptors(pid) == only, f"a waiting child has {only}, and no more")
    status = _status(pid)
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0000000000000000"}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
    assert status["Seccomp_filters"] == ("2" if wall.level == "namespaces" else "1")
    assert status["Groups"] == "" or os.geteuid() != 0
    uid = "65534" if os.geteuid() == 0 else str(os.geteuid())
    assert set(status["Uid"].split()) == {uid}
    own = {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    theirs = {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES}
    shared = {name for name in NAMESPACES if own[name] == theirs[name]}
    assert shared == (set() if wall.level == "namespaces" else set(NAMESPACES))
    environment = Path(f"/proc/{pid}/environ").read_text().split("\0")
    listed = {*EXPECTED[wall.level]["environment"], "", "LC_CTYPE"}
    assert {entry.partition("=")[0] for entry in environment} <= listed
    if wall.level == "namespaces":
        assert Path(f"/proc/{pid}/uid_map").read_text().split() == ["1000", uid, "1"]
        assert Path(f"/proc/{pid}/setgroups").read_text().strip() == "deny"
        assert len(status["NSpid"].split()) == 3, "a pid namespace inside the template's"


@pytest.mark.requirement("T3", "T5", "T6")
def test_from_outside_a_waiting_child_has_exactly_the_mounts_that_are_listed(namespaces: Wall) -> None:
    pid = _waiting(namespaces).handles.pid
    expected, some = EXPECTED["namespaces"]["mounts"], EXPECTED["namespaces"]["mounts_of_some_hosts"]
    # A later line covers an earlier one at the same place: only the last can be seen by code.
    seen = dict(map(_neutral_mount, Path(f"/proc/{pid}/mountinfo").read_text().splitlines()))
    assert {point: kind for point, kind in seen.items() if some.get(point) != kind} == expected


@pytest.mark.requirement("T5", "T27")
def test_two_waiting_children_share_nothing_but_the_empty_network(namespaces: Wall) -> None:
    pool = namespaces.runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
    assert isinstance(pool, LinuxPool)
    wait_until(lambda: pool.warm_children > 1, "two children wait")
    one, two = (jail.handles.pid for jail in list(pool._warm)[:2])  # pyright: ignore[reportPrivateUsage]
    shared = {n for n in NAMESPACES if os.readlink(f"/proc/{one}/ns/{n}") == os.readlink(f"/proc/{two}/ns/{n}")}
    assert shared == {"net"}


@pytest.mark.requirement("T4", "T5")
def test_from_outside_the_keeper_holds_nothing_of_ours(wall: Wall) -> None:
    pool = wall.runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
    assert isinstance(pool, LinuxPool)
    template = pool._template  # pyright: ignore[reportPrivateUsage]
    assert template is not None
    pid = template._keeper.pid  # pyright: ignore[reportPrivateUsage]
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    assert sorted(links) == ["/dev/null"] * 3 + ["anon_inode:[pidfd]"] * 2
    assert int(_status(pid)["NSpid"].split()[0]) == pid


@pytest.mark.requirement("T14", "T16")
def test_where_cgroups_are_granted_a_waiting_child_is_already_in_its_own(namespaces: Wall) -> None:
    pool = namespaces.runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
    assert isinstance(pool, LinuxPool)
    if pool.cgroups.version == "none":
        pytest.skip(f"allowed: no cgroup is granted to this user: {pool.cgroups.reason}")
    pid = _waiting(namespaces).handles.pid
    groups = Path(f"/proc/{pid}/cgroup").read_text()
    own = Path("/proc/self/cgroup").read_text()
    lines = [line for line in groups.splitlines() if "gristmill-" in line and "/run-" in line]
    assert len(lines) == (3 if pool.cgroups.version == "v1" else 1)
    assert groups != own
