"""Makes the project's virtual environment from the lock files: idempotent, standard library only, loud when something is missing.

Plain pip installs what `requirements-dev.lock` pins, checks the hash of every file, and then installs the package itself as
editable, with the build tools that are there already. `make lock` writes the lock files.
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES_FOR_CODE = ROOT / ".venv" / "code"
"""A folder of packages that sandboxed code may import in the demo and the tests."""


def main(folder: str) -> None:
    """Creates ``folder`` if need be and installs into it."""
    if sys.version_info < (3, 11):
        sys.exit(
            f"Gristmill needs Python 3.11 or newer; this is {sys.version.split()[0]} (choose with `make PYTHON=python3.12 ...`)"
        )
    target = ROOT / folder
    python = target / "bin" / "python"
    if not python.exists():
        print(f"creating {folder}", flush=True)
        venv.create(target, with_pip=True, symlinks=True)
    print("installing gristmill and what the repo needs", flush=True)
    pip(python, "--require-hashes", "-r", "requirements-dev.lock")
    pip(python, "--no-deps", "--no-build-isolation", "-e", ".")
    pip(python, "--no-deps", "--no-build-isolation", "-e", "packages/langchain-gristmill")
    # Where byte code is not written on import, every start would compile the package anew.
    subprocess.run([str(python), "-m", "compileall", "-q", str(ROOT / "src")], check=False)
    print("installing pandas for sandboxed code", flush=True)
    site = PACKAGES_FOR_CODE / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if not (site / "pandas").exists():
        pip(python, "--only-binary=:all:", "--target", str(site), "--require-hashes", "-r", "requirements-code.lock")


def pip(python: Path, *arguments: str) -> None:
    """Installs, quietly unless it fails."""
    done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", *arguments], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"pip could not install {' '.join(arguments)}")


if __name__ == "__main__":
    main(sys.argv[1])
