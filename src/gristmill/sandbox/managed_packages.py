"""Packages that code may import: a virtual environment of the operator's, or one that we keep for a list of requirements."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gristmill.errors import ConfigError
from gristmill.sandbox.jail_layout import version

INSTALL_SECONDS = 1_800.0


def site_of(venv: Path | None, packages: Sequence[str], state: Path) -> Path | None:
    """The folder that holds the packages, or None when there are none.

    Raises:
        ConfigError: it does not exist; the message says how to make it.
    """
    if venv is not None and packages:
        raise ConfigError("set sandbox.venv or sandbox.packages, not both")
    if venv is None and not packages:
        return None
    site = _site(venv if venv is not None else managed(packages, state))
    if not site.is_dir():
        if venv is not None:
            raise ConfigError(f"{venv} has no {site.relative_to(venv)}: sandbox.venv must be made with {version()}")
        raise ConfigError("the packages of sandbox.packages are not installed yet: run `gristmill packages install`")
    return site.resolve()


def managed(packages: Sequence[str], state: Path) -> Path:
    """Where the environment for this list of requirements lives; another list is another environment."""
    text = json.dumps([version(), sorted(packages)])
    return state / "packages" / hashlib.sha256(text.encode()).hexdigest()[:16]


def install(packages: Sequence[str], state: Path) -> Path:
    """Make the environment with the operator's own pip; does nothing when it is there already.

    Raises:
        ConfigError: pip failed; the message is its own.
    """
    folder = managed(packages, state)
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
        "--target",
        str(_site(folder)),
        *packages,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"pip could not install the packages: {error}") from None
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise ConfigError(f"pip could not install {', '.join(packages)}:\n{done.stderr.strip()[-2000:]}")
    _compile(_site(folder))
    (folder / "complete").touch()
    return folder


def _compile(site: Path) -> None:
    """Byte-compile once, since the jail sees the folder read-only."""
    command = [sys.executable, "-m", "compileall", "-q", "-j", str(os.cpu_count() or 1), str(site)]
    subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS, check=False)


def _site(venv: Path) -> Path:
    return venv / "lib" / version() / "site-packages"
