"""Programs of the machine in the jail: what was named can be started, and it meets the same walls as Python code."""

from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.errors import ConfigError, SandboxUnavailable
from gristmill.model import Outcome
from gristmill.sandbox.jail_layout import make_host_layout
from gristmill.sandbox.jail_programs import SHELL_PROGRAMS, list_program_binds


def make_config(folder: Path, *programs: str) -> Config:
    return Config.model_validate({"store": {"path": str(folder)}, "sandbox": {"programs": programs}})


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    with BlockingRuntime(make_config(tmp_path_factory.mktemp("programs"), "shell", "su", "mount", "unshare")) as opened:
        yield opened


def run_shell(runtime: BlockingRuntime, command: str) -> tuple[int, str]:
    code = f"""
import subprocess
done = subprocess.run(["/bin/sh", "-c", {command!r}], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
[done.returncode, done.stdout.decode()]
"""
    outcome: Outcome = runtime.execute(code)
    assert outcome.status == "ok", outcome.error
    exit_code, output = cast("tuple[int, str]", outcome.result)
    return exit_code, output


def test_a_shell_and_small_programs_work(runtime: BlockingRuntime) -> None:
    command = "for n in $(seq 3); do echo line$n; done | sed s/line/x/ | grep -v 2 | tr '\\n' ' '"
    assert run_shell(runtime, command) == (0, "x1 x3 ")
    assert run_shell(runtime, "python3 -c 'print(6 * 7)' && python -V >/dev/null && command -v cat") == (0, "42\n/usr/bin/cat\n")
    assert run_shell(runtime, "find /usr/bin -name 'sor*'; cp /etc/hosts h && wc -l < h; exit 3") == (3, "/usr/bin/sort\n1\n")


def test_the_machine_stays_out_of_sight(runtime: BlockingRuntime, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not for code")
    assert run_shell(runtime, f"cat {tmp_path}/secret")[0] == 1
    assert run_shell(runtime, "cat /etc/passwd | wc -l") == (0, "3\n")
    shown = run_shell(runtime, "ls /usr/bin")[1].split()
    assert set(shown) <= {*SHELL_PROGRAMS, "su", "mount", "unshare"}
    assert "subprocess" not in shown
    assert "PATH=/opt/python/bin:/usr/bin" in run_shell(runtime, "env")[1].split()


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /usr/bin/cat",
        "rm -f /usr/bin/cat && echo gone",
        "mount -t tmpfs none /tmp",
        "unshare -U true",
        "su -c true",
        "bash -c 'echo x > /dev/tcp/127.0.0.1/22'",
        "chmod u+s /usr/bin/sh",
        "cp /usr/bin/sh own && ./own -c true",
    ],
)
def test_programs_meet_the_same_walls(runtime: BlockingRuntime, command: str) -> None:
    exit_code, output = run_shell(runtime, command)
    assert exit_code != 0, output
    assert "gone" not in output


def test_no_program_gains_rights_by_its_set_uid_bit(runtime: BlockingRuntime) -> None:
    assert run_shell(runtime, "stat -c %A /usr/bin/su") == (0, "-rwsr-xr-x\n")
    assert "must be" in run_shell(runtime, "mount -t tmpfs none /tmp")[1]  # it says so if its effective user is not root


def test_without_the_setting_there_is_no_shell(tmp_path: Path) -> None:
    with BlockingRuntime(make_config(tmp_path)) as runtime:
        outcome = runtime.execute("import os\n[os.path.exists('/bin/sh'), os.listdir('/usr')]")
    assert outcome.status == "ok"
    assert str(outcome.result).startswith("[False")
    assert "'bin'" not in str(outcome.result)


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(SandboxUnavailable, match=r"names 'no-such-program'.*install it"),
        BlockingRuntime(make_config(tmp_path, "no-such-program")),
    ):
        pass


@pytest.mark.parametrize("name", ["../bin/sh", "/tmp/evil", "a b", "", ".", "-x"])
def test_a_program_is_given_by_its_name_alone(tmp_path: Path, name: str) -> None:
    with pytest.raises((ConfigError, ValueError), match="programs"):
        make_config(tmp_path, name)


def test_a_program_in_a_folder_of_the_callers_path_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil").write_text("#!/bin/sh\n")
    (tmp_path / "evil").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="evil"):
        list_program_binds(("evil",))


def test_at_the_landlock_level_they_are_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="needs the isolation level namespaces"):
        make_host_layout(None, None, ("sh",))
