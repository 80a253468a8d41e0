"""The manifest of requirements against the tests that name them, both ways."""

import ast
from collections import Counter
from pathlib import Path

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parents[1]


def _named(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The requirements that a test's markers name."""
    found: set[str] = set()
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.requirement":
            found |= {str(argument.value) for argument in decorator.args if isinstance(argument, ast.Constant)}
    return found


def _tests(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[f"{path.stem}::{node.name}"] = _named(node)
    return found


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
