"""The manifest of requirements against the tests that name them, both ways."""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parents[1]
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def _read_marks(nodes: Iterable[ast.AST]) -> set[str]:
    """The requirements that marks name."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement"]
    return {str(argument.value) for call in calls for argument in call.args if isinstance(argument, ast.Constant)}


def _tests(folder: Path) -> dict[str, set[str]]:
    return {name: named for path in sorted(folder.rglob("test_*.py")) for name, named in _tests_of(path).items()}


@cache
def _tests_of(path: Path) -> dict[str, set[str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    marks = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"]
    of_all = set[str]().union(*(_read_marks(ast.walk(value)) for value in marks))
    nodes = [node for node in tree.body if isinstance(node, _FUNCTIONS) and node.name.startswith("test_")]
    return {f"{path.stem}::{node.name}": of_all | _read_marks(node.decorator_list) for node in nodes}


def _rows() -> dict[str, list[str]]:
    """The threats that the page lists in its table, and the tests or folders of tests that it names for each."""
    lines = (TESTS.parent / "docs" / "explain" / "threats.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| T\d+ \|", line)]
    return {row[0]: re.findall(r"`([^`]+)`", row[-1]) for row in cells}


def _proved_at(place: str) -> set[str]:
    """The requirements that are named by a test, by the tests of a file, or by those of a folder."""
    if place.startswith("test_"):
        return set[str]().union(*(named for name, named in _tests(TESTS).items() if name.endswith(f"::{place}")))
    path = TESTS.parent / place
    return set[str]().union(*(_tests_of(path) if path.is_file() else _tests(path)).values())


def test_every_threat_that_was_found_has_a_row_and_each_row_names_tests_that_prove_it() -> None:
    rows = _rows()
    assert set(rows) == {one.id for one in REQUIREMENTS if one.id.startswith("T") and int(one.id[1:]) > 53}
    assert [(id_, place) for id_, places in rows.items() for place in places if id_ not in _proved_at(place)] == []


def test_every_requirement_has_an_id_of_its_own() -> None:
    assert [name for name, count in Counter(one.id for one in REQUIREMENTS).items() if count > 1] == []


def test_every_threat_of_the_model_is_listed() -> None:
    assert {f"T{number}" for number in range(1, 54)} <= {one.id for one in REQUIREMENTS}


def test_every_requirement_has_a_test_or_a_reason_and_not_both() -> None:
    named = set[str]().union(*_tests(TESTS).values())
    assert [one.id for one in REQUIREMENTS if one.deferred is None and one.id not in named] == [], "no test and no reason"
    assert [one.id for one in REQUIREMENTS if one.deferred is not None and one.id in named] == [], (
        "tested, yet said to be deferred"
    )


def test_every_attack_test_proves_a_requirement() -> None:
    known = {one.id for one in REQUIREMENTS}
    tests = _tests(TESTS / "attack")
    assert [name for name, named in tests.items() if not named or named - known] == []


def test_every_attack_tests_name_is_a_promise() -> None:
    assert [name for name in _tests(TESTS / "attack") if len(name.split("::")[1].split("_")) < 5] == []
