"""The house is as the pages say: names stand once, folders are small, nothing imports in a circle, sentences are plain, and the tree
and the files that the pages for contributors name exist."""

import re
from pathlib import Path

import pytest
from bench.late_imports import LEAST_MILLISECONDS, OPTIONAL
from tools.house import ROOT as SOURCES
from tools.house import find_cycles, prose_of, read_modules, riddles_per_thousand, shared_classes, shared_files

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "docs" / "contributing" / "house.md"
HABITS = HOUSE.with_name("habits.md")
CONTRIBUTING = sorted([*HOUSE.parent.glob("*.md"), ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md"])
MODULES = read_modules()
MOST_FILES = 18
MOST_RIDDLES = 2.0
"""Per 1,000 words."""
TREE = re.compile(r"<!-- tree -->\n```text\n(.*?)```\n<!-- /tree -->", re.DOTALL)
NAMED = re.compile(r"`([\w.-]+/(?:[\w.-]+(?:/[\w.-]+)*/?)?)`")
"""A path with a slash in it, as code. A bare name may be an example."""
NEW = re.compile(r"KIND|NAME|PACKAGE")
"""Stand-ins for what a contributor adds."""
BUILT = ("site/", "dist/")


def folders_of_the_page() -> set[str]:
    """Reads the indented tree of the page as paths below `src/gristmill`."""
    (tree,) = TREE.findall(HOUSE.read_text())
    above: list[str] = []
    found: set[str] = set()
    for line in tree.splitlines()[1:]:
        name = line.split()[0].rstrip("/")
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        above[depth:] = [name]
        found.add("/".join(above))
    return found


def folders_of_the_tree() -> set[str]:
    return {str(module.path.parent.relative_to(SOURCES)) for module in MODULES} - {"."}


def hand_written_pages() -> list[Path]:
    """Every Markdown file of the repository that people write, except the changelog."""
    pages = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")]
    for folder in ("docs", "bench", "deploy", "examples"):
        pages += (ROOT / folder).rglob("*.md")
    return [
        page
        for page in pages
        if page.name != "CHANGELOG.md" and "reference" not in page.parts and "node_modules" not in page.parts
    ]


def test_a_public_class_name_stands_once() -> None:
    assert shared_classes(MODULES) == {}


def test_a_file_name_stands_once() -> None:
    assert shared_files(MODULES) == {}


def test_a_folder_has_few_files() -> None:
    counts = {folder: len(list((SOURCES / folder).glob("*.py"))) for folder in folders_of_the_tree() | {"."}}
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert find_cycles(MODULES) == []


def late_imports_of_the_page() -> dict[tuple[str, str], tuple[str, str]]:
    """Reads the table of late imports: what is saved, and at which start or why, by file and module."""
    table = HABITS.read_text().partition("<!-- late imports -->")[2].partition("<!-- /late imports -->")[0]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {(file, module): (saved, reason) for file, module, saved, reason in rows}


def test_imports_inside_functions_are_in_the_table_of_late_imports() -> None:
    late = {(str(module.path.relative_to(SOURCES)), name) for module in MODULES for name in module.late_imports}
    assert sorted(late_imports_of_the_page()) == sorted(late)


def test_a_late_import_saves_time_or_may_be_missing() -> None:
    for place, (saved, reason) in late_imports_of_the_page().items():
        assert reason, place
        assert saved == "" if place[1] in OPTIONAL else float(saved.removesuffix(" ms")) >= LEAST_MILLISECONDS, place


def test_docstrings_say_who_acts() -> None:
    assert riddles_per_thousand([text for module in MODULES for text in prose_of(module.tree)]) <= MOST_RIDDLES


def test_pages_say_who_acts() -> None:
    assert riddles_per_thousand([page.read_text() for page in hand_written_pages()]) <= MOST_RIDDLES


def test_the_tree_on_the_page_is_the_tree_of_the_sources() -> None:
    assert sorted(folders_of_the_page()) == sorted(folders_of_the_tree())


@pytest.mark.parametrize("page", CONTRIBUTING, ids=lambda page: page.name)
def test_every_file_that_a_page_for_contributors_names_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = set(NAMED.findall(text))
    missing = [
        name
        for name in sorted(named)
        if not NEW.search(name) and name not in BUILT and not any((base / name).exists() for base in (ROOT, SOURCES))
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["AGENTS.md", "CHANGELOG.md", "RELEASE.md", "SECURITY.md"])
def test_links_of_the_pages_in_the_root_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / name).read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_what_the_figures_are_made_of_is_seen() -> None:
    assert len(MODULES) > 300
    assert len(hand_written_pages()) > 60
    assert riddles_per_thousand(["Whoever asks is told whatever somebody said, and nobody knows."]) > 100
