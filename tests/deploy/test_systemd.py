"""The unit: systemd accepts it, and it takes nothing away that the sandbox is made of."""

import configparser
import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.config.tree import ServeConfig
from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from tests.deploy.contained import DEPLOY, ERRNO, KILL, refuse

NO_NEW_PRIVILEGES = 38
UNIT = DEPLOY / "systemd" / "gristmill.service"


def service() -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    parser.read_string(UNIT.read_text())
    return dict(parser["Service"])


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    if (analyze := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed here")
    # It looks whether the program is there.
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/gristmill/bin/gristmill", str(Path(sys.executable).with_name("gristmill"))))
    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_forbidden_that_the_sandbox_needs() -> None:
    found = service()
    masks_proc = {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProcSubset"}
    assert not {*masks_proc, "RestrictNamespaces", "ProtectControlGroups", "ProtectHostname", "MemoryDenyWriteExecute"} & set(
        found
    )
    assert not {"@mount", "@process", "@privileged", "unshare", "mount"} & set(found["SystemCallFilter"].split())
    assert found["Delegate"].split() == ["cpu", "memory", "pids"]


def test_what_is_forbidden_is_refused_and_kills_nobody() -> None:
    found = service()
    assert found["SystemCallErrorNumber"] == "EPERM"
    assert found["OOMPolicy"] == "continue"


def under_the_units_filter(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run ``words`` with the calls that the unit names (not its groups of them) answered as systemd would."""
    found = service()
    answer = ERRNO | getattr(errno, found["SystemCallErrorNumber"]) if "SystemCallErrorNumber" in found else KILL
    names = [name for name in found["SystemCallFilter"].lstrip("~").split() if not name.startswith("@")]
    assert "io_uring_setup" in names
    filtered = refuse(names, answer)

    def restrict() -> None:
        kernel.make_syscall("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        seccomp.install_filter(filtered)

    return subprocess.run(words, preexec_fn=restrict, capture_output=True, text=True, timeout=60, check=False)


def test_a_program_that_asks_for_what_is_forbidden_goes_on_without() -> None:
    # As Node does when it starts.
    asks = f"import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall({kernel.NUMBERS['io_uring_setup']}, 1, 0)"
    done = under_the_units_filter(sys.executable, "-c", f"{asks}; print(ctypes.get_errno())")
    assert (done.returncode, done.stdout) == (0, f"{errno.EPERM}\n")


def test_every_promise_of_the_sandbox_holds_under_the_units_filter(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_STORE__PATH", str(state))
    done = under_the_units_filter(sys.executable, "-m", "gristmill", "doctor", "--no-servers")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_nobody_special_and_may_drain() -> None:
    found = service()
    assert (found["User"], found["NoNewPrivileges"], found["CapabilityBoundingSet"]) == ("gristmill", "yes", "")
    assert int(found["TimeoutStopSec"]) > ServeConfig().drain_seconds
