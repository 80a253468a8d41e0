"""Fail closed: on a machine that lacks something the gateway refuses and says what and how to get it, or says the lower level aloud."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill.sandbox.linux import cgroups, group_folders
from tests.attack.conftest import open_to_others
from tests.attack.wall import reachable

PROGRAM = Path(__file__).parent / "programs" / "lacking.py"
NEW_NAMESPACE = 0x7E020000


Lacking = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def machines() -> Generator[subprocess.Popen[str]]:
    """What opens gateways on machines that lack something."""
    command = [sys.executable, "-B", str(PROGRAM)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield process
        process.kill()


@pytest.fixture
def lacking(machines: subprocess.Popen[str], tmp_path: Path) -> Lacking:
    """Opens a gateway and runs a program where the calls in ``deny`` are refused."""
    reachable(tmp_path)
    for folder in ("workspaces", "scratch", "catalog"):
        (tmp_path / folder).mkdir(exist_ok=True, mode=0o711)

    def run(isolation: str = "namespaces", **order: Any) -> dict[str, Any]:
        assert machines.stdin
        assert machines.stdout
        print(json.dumps({"deny": {}, "isolation": isolation, "state": str(tmp_path), **order}), file=machines.stdin)
        said = ""
        while (line := machines.stdout.readline()) != "ended\n":
            assert line, "the program has ended"
            said = line
        return json.loads(said)

    return run


FEATURES = {
    "unshare": "namespaces",
    "mount": "namespaces",
    "pivot_root": "namespaces",
    "seccomp": "seccomp",
    "landlock_create_ruleset": "landlock",
    "landlock_add_rule": "landlock",
    "landlock_restrict_self": "landlock",
}
"""A call that is refused, and the feature whose lack the message must name."""
CALLS = ("umount2", "mount_setattr", "setns", "capset", "sethostname", "pidfd_open", "close_range")
"""Calls without a feature of their own: the message must name the call."""


@pytest.mark.requirement("T50")
def test_the_control_machine_lacks_nothing(lacking: Lacking) -> None:
    assert lacking() == {"opened": "namespaces", "isolation": "namespaces", "status": "ok", "result": 42}


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("call", FEATURES)
def test_without_a_kernel_feature_nothing_runs_and_the_lack_and_the_remedy_are_named(lacking: Lacking, call: str) -> None:
    answer = lacking(deny={call: errno.EPERM})
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert f"{FEATURES[call]}: " in answer["message"], answer
    assert "To grant it" in answer["message"]


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("call", ["landlock_create_ruleset", "seccomp"])
def test_on_a_kernel_too_old_to_know_a_call_nothing_runs(lacking: Lacking, call: str) -> None:
    answer = lacking(deny={call: errno.ENOSYS})
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert f"{FEATURES[call]}: " in answer["message"], answer


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("call", CALLS)
def test_without_a_call_that_a_step_needs_nothing_runs_and_the_call_is_named(lacking: Lacking, call: str) -> None:
    answer = lacking(deny={call: errno.EPERM})
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert call in answer["message"], answer


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("flag", [0x10000000, 0x20000000, 0x20000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, NEW_NAMESPACE],
                         ids=["user", "pid", "mount", "net", "ipc", "uts", "cgroup", "all"])  # fmt: skip
def test_without_one_kind_of_namespace_nothing_runs(lacking: Lacking, flag: int) -> None:
    answer = lacking(flags=flag)
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert "namespaces" in answer["message"]
    assert "user.max_user_namespaces" in answer["message"]


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("call", ["unshare", "pivot_root"])
def test_auto_takes_the_lower_level_and_says_so_in_the_outcome(lacking: Lacking, call: str) -> None:
    _landlock_or_skip()
    answer = lacking(isolation="auto", deny={call: errno.EPERM})
    assert answer == {"opened": "landlock", "isolation": "landlock", "status": "ok", "result": 42}


@pytest.mark.requirement("T50")
def test_auto_takes_the_best_there_is(lacking: Lacking) -> None:
    assert lacking(isolation="auto")["isolation"] == "namespaces"


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("call", ["seccomp", "landlock_create_ruleset"])
@pytest.mark.parametrize("isolation", ["landlock", "auto"])
def test_below_landlock_and_seccomp_nothing_runs_at_any_setting(lacking: Lacking, call: str, isolation: str) -> None:
    answer = lacking(isolation=isolation, deny={call: errno.EPERM, "unshare": errno.EPERM})
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert call.partition("_")[0] in answer["message"].lower() or "cannot read" in answer["message"]


@pytest.mark.requirement("T50")
def test_cgroups_that_are_required_and_missing_stop_the_start(lacking: Lacking) -> None:
    answer = lacking(deny={"mkdir": errno.EACCES}, cgroups="require") if _granted() else lacking(cgroups="require")
    assert answer.get("refused") == "SandboxUnavailable", answer
    assert "cgroup" in answer["message"]
    assert "Delegate" in answer["message"]


def _granted() -> bool:
    name = f"gristmill-try-{os.getpid()}"
    found = cgroups.prepare_hierarchy(name)
    group_folders.remove_groups(found.unique_folders())
    return found.version != "none"


def _landlock_or_skip() -> None:
    if os.geteuid() == 0 and not open_to_others(Path(os.path.realpath(sys.executable))):
        pytest.skip("allowed: nobody can reach this interpreter; tools/attack.py tests this level from a copy")


# -- the landlock level itself: what it still promises -----------------------------------------------------------------------


@pytest.mark.requirement("T50")
def test_at_the_landlock_level_every_outcome_says_so(lacking: Lacking) -> None:
    _landlock_or_skip()
    assert lacking(isolation="landlock")["isolation"] == "landlock"
    assert lacking(isolation="landlock", code="1 / 0")["isolation"] == "landlock"
