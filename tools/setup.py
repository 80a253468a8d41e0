"""Make the project's virtual environment: idempotent, standard library only, loud when something is missing."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES_FOR_CODE = ROOT / ".venv" / "code"
"""A folder of packages that sandboxed code may import in the demo and the tests."""


def main(folder: str) -> None:
    """Create ``folder`` if need be and install into it."""
    if sys.version_info < (3, 11):
        sys.exit(
            f"Gristmill needs Python 3.11 or newer; this is {sys.version.split()[0]} (choose with `make PYTHON=python3.12 ...`)"
        )
    target = ROOT / folder
    python = target / "bin" / "python"
    if not python.exists():
        print(f"creating {folder}", flush=True)
        venv.create(target, with_pip=True, symlinks=True)
    groups = (ROOT / "pyproject.toml").read_text()
    print("installing gristmill and what the repo needs", flush=True)
    pip(python, "-e", ".", *development(groups))
    # Where byte code is not written on import, every start would compile the package anew.
    subprocess.run([str(python), "-m", "compileall", "-q", str(ROOT / "src")], check=False)
    print("installing pandas for sandboxed code", flush=True)
    site = PACKAGES_FOR_CODE / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if not (site / "pandas").exists():
        pip(python, "--only-binary=:all:", "--target", str(site), "pandas")


def development(pyproject: str) -> list[str]:
    """The development requirements, read from pyproject.toml so that they are listed once."""
    import tomllib

    return tomllib.loads(pyproject)["dependency-groups"]["dev"]


def pip(python: Path, *arguments: str) -> None:
    """Install, quietly unless it fails."""
    done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", *arguments], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"pip could not install {' '.join(arguments)}")


if __name__ == "__main__":
    main(sys.argv[1])
