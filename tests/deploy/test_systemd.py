"""The unit: systemd accepts it, and it takes nothing away that the sandbox is made of."""

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.config import ServeConfig
from tests.deploy.contained import DEPLOY

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


def test_it_is_nobody_special_and_may_drain() -> None:
    found = service()
    assert (found["User"], found["NoNewPrivileges"], found["CapabilityBoundingSet"]) == ("gristmill", "yes", "")
    assert int(found["TimeoutStopSec"]) > ServeConfig().drain_seconds
