"""A release is published only if tag, package and changelog agree and the packages are whole."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.check_release import find_problems

PAGES = [f"gristmill/serve/dashboard/static/{name}" for name in ("index.html", "main-1.js", "main-2.css")]


@pytest.fixture
def release(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder that looks like a checkout after `make dist`."""

    def make(*, date: str = "2026-12-01", pages: list[str] = PAGES) -> Path:
        (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [1.2.3] - {date}\n")
        (tmp_path / "dist").mkdir()
        with zipfile.ZipFile(tmp_path / "dist" / "gristmill-1.2.3-py3-none-any.whl", "w") as wheel:
            for name in pages:
                wheel.writestr(name, "x")
        with tarfile.open(tmp_path / "dist" / "gristmill-1.2.3.tar.gz", "w:gz") as sdist:
            for name in PAGES:
                sdist.addfile(tarfile.TarInfo(f"gristmill-1.2.3/src/{name}"), io.BytesIO())
        return tmp_path

    return make


def test_a_whole_release_has_no_problem(release: Callable[..., Path]) -> None:
    assert list(find_problems(release(), "v1.2.3")) == []


def test_a_tag_of_another_version_is_a_problem(release: Callable[..., Path]) -> None:
    (problem,) = find_problems(release(), "v1.2.4")
    assert problem.startswith("the tag is v1.2.4, but pyproject.toml says 1.2.3")


def test_a_changelog_without_a_date_is_a_problem(release: Callable[..., Path]) -> None:
    assert list(find_problems(release(date="unreleased"), "v1.2.3")) == [
        "CHANGELOG.md does not begin with `## [1.2.3] - ` and a date"
    ]


def test_a_wheel_without_the_dashboard_is_a_problem(release: Callable[..., Path]) -> None:
    (problem,) = find_problems(release(pages=PAGES[:1]), "v1.2.3")
    assert problem == "gristmill-1.2.3-py3-none-any.whl has no dashboard (.css, .js missing): run `make dist`"


def test_packages_of_another_version_or_none_are_a_problem(release: Callable[..., Path]) -> None:
    folder = release()
    (folder / "dist" / "gristmill-1.2.3.tar.gz").rename(folder / "dist" / "gristmill-1.2.2.tar.gz")
    (problem,) = find_problems(folder, "v1.2.3")
    assert problem.startswith("dist/ should hold gristmill-1.2.3-py3-none-any.whl and gristmill-1.2.3.tar.gz, not ")
