"""The documentation site: every page is in the navigation, the strict build passes, broken links fail it, nothing comes from outside."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.site_hooks import unlink_sources

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that make a browser load something, and the attribute that says what."""


def pages_of(nav: Any) -> Iterator[str]:
    """Yields every page of a navigation, however deep it stands."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for part in nav.values():  # pyright: ignore[reportUnknownVariableType]
            yield from pages_of(part)
    else:
        for part in nav:
            yield from pages_of(part)


def build(folder: Path, site: Path) -> tuple[int, str]:
    """Builds the site of a folder; exit status and what was printed."""
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(folder / "mkdocs.yml"), "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110, check=False)
    return done.returncode, done.stdout + done.stderr


class Loaded(HTMLParser):
    """Collects the addresses that a page loads from other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(LOADS.get(tag, "")) or ""
        if re.match(r"(https?:)?//", address):
            self.found.append(address)


def test_every_page_is_in_the_navigation_once() -> None:
    nav = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(nav) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_site_is_built_with_search_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    status, printed = build(ROOT, tmp_path / "site")
    assert status == 0, printed
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text())
        assert (page.name, loaded.found) == (page.name, [])
    styles = "".join(sheet.read_text() for sheet in (tmp_path / "site").rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\"']+", styles) == []
    assert "execute_code" in (tmp_path / "site" / "search" / "search_index.json").read_text()
    assert "content.code.copy" in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[gone](guides/gone.md)", "contains a link 'guides/gone.md', but the target is not found"),
        ("[no such heading](guides/store.md#gone)", "does not contain an anchor '#gone'"),
        ("[no such source](../src/gone.py)", "contains a link '../src/gone.py', but the target"),
    ],
)
def test_a_broken_link_fails_the_build(text: str, problem: str, tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "site_hooks.py", tmp_path / "tools")
    (tmp_path / "src" / "gristmill" / "sandbox" / "linux" / "seccomp").mkdir(parents=True)
    (tmp_path / "src" / "gristmill" / "sandbox" / "linux" / "seccomp" / "seccomp.toml").touch()
    page = tmp_path / "docs" / "faq.md"
    page.write_text(f"{page.read_text()}\n{text}\n")
    status, printed = build(tmp_path, tmp_path / "site")
    assert status != 0
    assert problem in printed


def test_a_link_to_a_source_file_becomes_text() -> None:
    assert (
        unlink_sources("see [the file](../../Makefile), [a page](../faq.md)", DOCS / "guides")
        == "see the file, [a page](../faq.md)"
    )
