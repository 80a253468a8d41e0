"""Packages of the distribution, unpacked where they are needed: nothing is installed or started."""

import shutil
import subprocess
from pathlib import Path


def unpack(package: str, folder: Path) -> None:
    """Put the files of ``package`` into ``folder``, in the place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if _run(folder, "apt-get", "download", "-qq", package).returncode:
        _run(folder, "apt-get", "update", "-qq")  # the lists of this machine may be old, or missing
        _run(folder, "apt-get", "download", "-qq", package).check_returncode()
    (archive,) = folder.glob("*.deb")
    _run(folder, "dpkg-deb", "-x", archive.name, ".").check_returncode()
    archive.unlink()


def _run(folder: Path, *command: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, cwd=folder, check=False, timeout=600)
