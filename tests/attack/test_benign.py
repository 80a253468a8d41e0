"""Benign programs of the kind that models write: none is refused, each has the result that it has anywhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.wall import Wall, opened

PROGRAMS = sorted((Path(__file__).parent / "benign").glob("*.py"))
CODE = Path(__file__).parents[2] / ".venv" / "code"
HAS_PANDAS = any(CODE.glob("lib/python*/site-packages/pandas"))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    packages: dict[str, Any] = {"venv": str(CODE), "preload_packages": ["pandas"]} if HAS_PANDAS else {}
    with opened(tmp_path_factory.mktemp("benign"), "namespaces", **packages) as wall:
        yield wall


def expected(path: Path) -> object:
    return json.loads(path.read_text().rpartition("# expect: ")[2])


@pytest.mark.requirement("T53")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_a_benign_program_is_not_refused(gateway: Wall, path: Path, kept: bool) -> None:
    if "# needs: pandas" in path.read_text() and not HAS_PANDAS:
        pytest.skip("allowed: pandas is not installed for code (make setup installs it)")
    outcome = gateway.run(path.read_text(), session=f"benign-{path.stem}" if kept else None)
    gateway.runtime.drop_session(f"benign-{path.stem}")
    assert outcome.status == "ok", outcome.error
    assert outcome.result == expected(path)


@pytest.mark.requirement("T53")
def test_there_are_at_least_forty_benign_programs() -> None:
    assert len(PROGRAMS) >= 40
