"""Packages that code may import: a virtual environment of the operator, or one that Gristmill keeps for the required packages."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gristmill.errors import ConfigError
from gristmill.sandbox.jail_layout import get_python_name

INSTALL_SECONDS = 1_800.0


def find_packages_folder(venv: Path | None, packages: Sequence[str], state: Path) -> Path | None:
    """Returns the folder that holds the packages, or None when there are none.

    Raises:
        ConfigError: the folder does not exist; the message says how to make it.
    """
    if venv is not None and packages:
        raise ConfigError("set sandbox.venv or sandbox.packages, not both")
    if venv is None and not packages:
        return None
    site = _get_site_packages(venv if venv is not None else locate_managed_environment(packages, state))
    if not site.is_dir():
        if venv is not None:
            raise ConfigError(f"{venv} has no {site.relative_to(venv)}: sandbox.venv must be made with {get_python_name()}")
        raise ConfigError("the packages of sandbox.packages are not installed yet: run `gristmill packages install`")
    return site.resolve()


def locate_managed_environment(packages: Sequence[str], state: Path) -> Path:
    """Returns where the environment for this list of requirements is kept; each list has an environment of its own."""
    text = json.dumps([get_python_name(), sorted(packages)])
    return state / "packages" / hashlib.sha256(text.encode()).hexdigest()[:16]


def install_packages(packages: Sequence[str], state: Path) -> Path:
    """Installs the packages with the operator's own pip; does nothing when they are installed already.

    Raises:
        ConfigError: pip failed; the message quotes pip.
    """
    folder = locate_managed_environment(packages, state)
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
        str(_get_site_packages(folder)),
        *packages,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"pip could not install the packages: {error}") from None
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise ConfigError(f"pip could not install {', '.join(packages)}:\n{done.stderr.strip()[-2000:]}")
    _compile_packages(_get_site_packages(folder))
    (folder / "complete").touch()
    return folder


def _compile_packages(site: Path) -> None:
    """Compiles the packages to byte code once, since the jail sees the folder read-only."""
    command = [sys.executable, "-m", "compileall", "-q", "-j", str(os.cpu_count() or 1), str(site)]
    subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS, check=False)


def _get_site_packages(venv: Path) -> Path:
    return venv / "lib" / get_python_name() / "site-packages"
