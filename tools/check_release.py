"""Checks what `make dist` made before it is published: ``python tools/check_release.py v0.2.0``.

The tag, the package and the changelog must name the same version, the changelog must give its date, and wheel and sdist must hold
the dashboard.
"""

import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PAGES = "gristmill/serve/dashboard/static"
KINDS = {".html", ".js", ".css"}


def main(tag: str) -> None:
    """Prints every problem, and ends with status 1 if there is one."""
    problems = list(find_problems(ROOT, tag))
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    print(f"{tag} can be published")


def find_problems(root: Path, tag: str) -> Iterator[str]:
    """Yields what keeps the release from being published."""
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        yield f"the tag is {tag}, but pyproject.toml says {version}: tag v{version}, or change the version"
    entry = re.search(r"^## \[(.+)\] - (\S+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if entry is None or entry[1] != version or not re.fullmatch(r"\d{4}-\d\d-\d\d", entry[2]):
        yield f"CHANGELOG.md does not begin with `## [{version}] - ` and a date"
    yield from find_package_problems(root / "dist", version)


def find_package_problems(folder: Path, version: str) -> Iterator[str]:
    """Yields what is wrong with the packages in ``folder``."""
    wheel, sdist = folder / f"gristmill-{version}-py3-none-any.whl", folder / f"gristmill-{version}.tar.gz"
    found = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
    if found != sorted((wheel.name, sdist.name)):
        yield f"dist/ should hold {wheel.name} and {sdist.name}, not {', '.join(found) or 'nothing'}: run `make dist`"
        return
    with zipfile.ZipFile(wheel) as archive:
        yield from find_missing_pages(wheel.name, archive.namelist())
    with tarfile.open(sdist) as archive:
        yield from find_missing_pages(sdist.name, archive.getnames())


def find_missing_pages(package: str, names: Iterable[str]) -> Iterator[str]:
    """Yields a problem if the built dashboard is not among the files of a package."""
    kinds = {PurePosixPath(name).suffix for name in names if PurePosixPath(name).parent.as_posix().endswith(PAGES)}
    if KINDS - kinds:
        yield f"{package} has no dashboard ({', '.join(sorted(KINDS - kinds))} missing): run `make dist`"


if __name__ == "__main__":
    main(sys.argv[1])
