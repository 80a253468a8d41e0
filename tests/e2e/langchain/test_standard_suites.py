"""LangChain's standard suites pass: they run in a pytest of their own, because their plugins are not for our tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SUITES = Path(__file__).with_name("standard_suites.py")


@pytest.mark.requirement("L4")
def test_the_standard_suites_for_tools_pass_for_both_tools() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(SUITES),
        "-q",
        "-c",
        "/dev/null",
        "--rootdir",
        str(ROOT),
        "-p",
        "no:schemathesis",
    ]
    options = ["-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:langsmith_plugin"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    found = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-1_000:]
    assert found is not None
    assert int(found[1]) >= 18, done.stdout
    assert "skipped" not in done.stdout, done.stdout
