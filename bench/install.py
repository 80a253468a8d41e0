"""What the measurements need, installed once into ``.tools/bench``: an environment per peer, pandas for programs, bubblewrap."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.figures import Peer

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / ".tools" / "bench"
PACKAGES = TOOLS / "code"
"""Looks like a virtual environment to Gristmill: programs may import what is in it."""
PANDAS = "pandas"
PIP_SECONDS = 900


class NotInstalled(Exception):
    """A peer cannot be measured here; the message says why."""


def pandas(progress: Callable[[str], None]) -> None:
    """Packages that programs may import."""
    site = PACKAGES / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if not (site / PANDAS).is_dir():
        progress("installing pandas for the programs")
        _pip(sys.executable, "--only-binary=:all:", "--target", str(site), PANDAS)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(site)], check=False, capture_output=True)


def interpreter(peer: Peer, progress: Callable[[str], None]) -> str:
    """The Python that runs a peer's script, made and filled if need be.

    Raises:
        NotInstalled: pip failed.
    """
    if peer.package is None:
        return os.path.realpath(sys.executable)  # floors use the bare interpreter, without our packages
    folder = TOOLS / peer.name
    stamp = folder / "installed"
    python = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != peer.package:
        progress(f"installing {peer.package}")
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        _pip(str(python), peer.package)
        stamp.write_text(peer.package, encoding="utf-8")
    return str(python)


def bubblewrap(progress: Callable[[str], None]) -> str:
    """The program ``bwrap``: the system's, or the distribution's package unpacked beside our tools, which changes no system.

    Raises:
        NotInstalled: there is neither.
    """
    if found := shutil.which("bwrap"):
        return found
    folder = TOOLS / "bwrap"
    program = folder / "usr" / "bin" / "bwrap"
    if not program.exists():
        progress("fetching bubblewrap")
        folder.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", "download", "bubblewrap"], folder)
        archives = list(folder.glob("bubblewrap_*.deb"))
        if not archives:
            raise NotInstalled("apt has no bubblewrap package here; install it with the system's package manager")
        _run(["dpkg-deb", "-x", str(archives[0]), str(folder)], folder)
    return str(program)


def _pip(python: str, *arguments: str) -> None:
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments], ROOT)


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PIP_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{command[0]}: {error}") from None
    if done.returncode:
        raise NotInstalled(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-300:]}")
