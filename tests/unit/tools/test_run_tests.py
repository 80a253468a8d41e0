"""A flaky test is told from a broken one, and neither can hide."""

import subprocess
import sys
from pathlib import Path

import pytest
from tools.run_tests import MOST_FILES, MOST_RERUN, Verdict, all_passed, cache_options, judge_run, read_failed, report_verdict

ONE, TWO = "tests/a.py::test_one", "tests/b.py::test_two[x-1]"
SUITE = """
import os, pytest
def test_good(): pass
def test_flaky(): assert os.environ.get("ALONE")
@pytest.mark.parametrize("name", ["a b", "::"])
def test_broken(name): assert name == "c"
@pytest.fixture
def torn():
    yield
    assert os.environ.get("ALONE")
def test_torn(torn): pass
def test_skipped_alone():
    if os.environ.get("ALONE"): pytest.skip("the machine is too small")
    assert False
"""


def never(_: str) -> bool:
    raise AssertionError("nothing is to be run again")


def run_suite(folder: Path, *words: str, alone: bool = False) -> int:
    environment = {"PATH": "/usr/bin:/bin"} | ({"ALONE": "1"} if alone else {})
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(folder), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=False).returncode


def test_a_green_run_is_green() -> None:
    assert judge_run(0, [], never) == Verdict(0)


def test_a_test_that_passes_alone_is_flaky_and_does_not_fail_the_run() -> None:
    assert judge_run(1, [ONE, TWO], lambda _: True) == Verdict(0, flaky=(ONE, TWO))


def test_a_test_that_fails_twice_fails_the_run_and_the_flaky_one_beside_it_is_still_named() -> None:
    assert judge_run(1, [ONE, TWO], lambda test: test == ONE) == Verdict(1, flaky=(ONE,), broken=(TWO,))


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        pytest.param(1, [], id="coverage below its limit"),
        pytest.param(1, [f"tests/a.py::test_{number}" for number in range(MOST_RERUN + 1)], id="too many failures"),
        pytest.param(1, [f"tests/{number}.py::test" for number in range(MOST_FILES + 1)], id="failures in too many files"),
        pytest.param(1, ["tests/a.py", ONE], id="a file that cannot be imported"),
        pytest.param(2, [ONE], id="interrupted"),
        pytest.param(3, [ONE], id="internal error"),
        pytest.param(-9, [ONE], id="killed"),
    ],
)
def test_what_running_a_test_again_cannot_explain_is_red_at_once(code: int, failed: list[str]) -> None:
    assert judge_run(code, failed, never) == Verdict(code)


def test_failed_tests_are_read_from_a_real_run_and_each_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)

    def passes_alone(test: str) -> bool:
        report = tmp_path / "alone.xml"
        return run_suite(tmp_path, test, f"--junitxml={report}", alone=True) == 0 and all_passed(report)

    code = run_suite(tmp_path, *cache_options(tmp_path))
    names = ["test_broken[::]", "test_broken[a b]", "test_flaky", "test_skipped_alone", "test_torn"]
    assert (code, read_failed(tmp_path)) == (1, [f"test_suite.py::{name}" for name in names])
    verdict = judge_run(code, read_failed(tmp_path), passes_alone)
    assert [test.partition("::")[2] for test in verdict.flaky] == ["test_flaky", "test_torn"]
    assert [test.partition("::")[2] for test in verdict.broken] == ["test_broken[::]", "test_broken[a b]", "test_skipped_alone"]


def test_a_report_without_tests_proves_nothing(tmp_path: Path) -> None:
    assert not all_passed(tmp_path / "missing.xml")
    (tmp_path / "empty.xml").write_text("<testsuites><testsuite/></testsuites>")
    assert not all_passed(tmp_path / "empty.xml")


def test_flaky_tests_are_printed_and_kept_with_those_of_earlier_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "artifacts" / "flaky.txt"
    report_verdict(Verdict(0, flaky=(ONE,)), "tests", file)
    report_verdict(Verdict(1, flaky=(TWO,), broken=(ONE,)), "attack tests as root", file)
    assert [line.partition(": ")[2] for line in file.read_text().splitlines()] == [ONE, TWO]
    printed = capsys.readouterr().out
    assert f"FLAKY: tests: {ONE} failed, then passed alone" in printed
    assert f"FAILED TWICE: attack tests as root: {ONE}" in printed


def test_a_run_without_flaky_tests_leaves_no_file(tmp_path: Path) -> None:
    report_verdict(Verdict(1, broken=(ONE,)), "tests", tmp_path / "flaky.txt")
    assert not (tmp_path / "flaky.txt").exists()
