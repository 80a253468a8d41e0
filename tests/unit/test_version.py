"""One version: of the package, of its metadata's source, and of the newest entry of the changelog."""

import re
import tomllib
from pathlib import Path

from gristmill import __version__

ROOT = Path(__file__).parents[2]


def test_the_package_and_the_project_have_the_same_version() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__


def test_the_package_for_langchain_has_the_same_version_and_needs_it() -> None:
    project = tomllib.loads((ROOT / "packages" / "langchain-gristmill" / "pyproject.toml").read_text())["project"]
    assert (project["version"], project["dependencies"]) == (__version__, [f"gristmill[langchain]=={__version__}"])


def test_the_changelog_begins_with_this_version() -> None:
    entries = re.findall(r"^## \[(.+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert entries[0][0] == __version__
    assert [date for _, date in entries[1:] if not re.fullmatch(r"\d{4}-\d\d-\d\d", date)] == []
