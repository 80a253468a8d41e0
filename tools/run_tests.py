"""Runs pytest with the given words. A few failed tests are run once more, alone, to tell flaky tests from broken ones.

A flaky test neither stops a release nor hides: it is printed as ``FLAKY: ...`` at the end and added to tests/artifacts/flaky.txt.
A test that fails twice fails the run. So do failed tests in more than five files (one fixture fails all tests of its file),
a file that cannot be imported, an interrupted run, and coverage below its limit: nothing is run again for those.
"""

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAKY_FILE = ROOT / "tests" / "artifacts" / "flaky.txt"
MOST_FILES = 5
MOST_RERUN = 20
RERUN_SECONDS = 600
TESTS_FAILED = 1
"""Pytest's exit code when tests failed. Every higher one says that the run itself went wrong."""
COVERAGE_LIMIT = "--cov-fail-under="


@dataclass(frozen=True)
class Verdict:
    """The exit code of a run, and what was learned by running failed tests again."""

    code: int
    flaky: tuple[str, ...] = ()
    """Tests that failed at first and passed alone."""
    broken: tuple[str, ...] = ()
    """Tests that failed both times."""


def main(arguments: Sequence[str]) -> int:
    """Runs the tests and returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="gristmill-tests-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pytest", *arguments, *cache_options(folder)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode

        def passes_alone(test: str) -> bool:
            report = folder / "alone.xml"
            report.unlink(missing_ok=True)
            command = [sys.executable, "-m", "pytest", test, "-q", f"--junitxml={report}"]
            try:
                code = subprocess.run(command, cwd=ROOT, check=False, timeout=RERUN_SECONDS).returncode
            except subprocess.TimeoutExpired:
                return False
            return code == 0 and all_passed(report)

        verdict = judge_run(code, read_failed(folder), passes_alone)
    if verdict.code == 0 and verdict.flaky:  # the failed tests hid from the exit code whether coverage was enough
        verdict = Verdict(check_coverage(arguments), verdict.flaky)
    report_verdict(verdict, "tests")
    return verdict.code


def judge_run(code: int, failed: Sequence[str], passes_alone: Callable[[str], bool]) -> Verdict:
    """Decides how a run ended, given pytest's exit code, the tests that failed, and a way to run one of them alone."""
    files = {test.partition("::")[0] for test in failed}
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST_RERUN or len(files) > MOST_FILES:
        return Verdict(code)
    if not all("::" in test for test in failed):  # a file that cannot be imported
        return Verdict(code)
    flaky = tuple(test for test in failed if passes_alone(test))
    broken = tuple(test for test in failed if test not in flaky)
    return Verdict(code if broken else 0, flaky, broken)


def cache_options(folder: Path) -> list[str]:
    """Returns the options that make pytest remember failed tests in ``folder``, those of this run only."""
    return ["-o", f"cache_dir={folder / 'cache'}"]


def read_failed(folder: Path) -> list[str]:
    """Returns the ids of the tests that failed in a run with ``cache_options(folder)``."""
    file = folder / "cache" / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def all_passed(report: Path) -> bool:
    """Tells whether a JUnit report holds tests, and each of them passed: one that was skipped did not."""
    if not report.exists():
        return False
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    return bool(cases) and not any(case.find(kind) is not None for case in cases for kind in ("failure", "error", "skipped"))


def check_coverage(arguments: Sequence[str]) -> int:
    """Compares the coverage of the run with the limit among its arguments; returns an exit code."""
    limits = [word.removeprefix(COVERAGE_LIMIT) for word in arguments if word.startswith(COVERAGE_LIMIT)]
    if not limits:
        return 0
    command = [sys.executable, "-m", "coverage", "report", "--format=total", f"--fail-under={limits[-1]}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        print((done.stdout.strip() or done.stderr.strip()).splitlines()[-1])
    return TESTS_FAILED if done.returncode else 0


def report_verdict(verdict: Verdict, suite: str, file: Path = FLAKY_FILE) -> None:
    """Prints what was learned, and adds flaky tests to a file."""
    for test in verdict.broken:
        print(f"FAILED TWICE: {suite}: {test}")
    for test in verdict.flaky:
        print(f"FLAKY: {suite}: {test} failed, then passed alone")
    if verdict.flaky:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{datetime.now(UTC):%Y-%m-%d %H:%M} {suite}: {test}\n" for test in verdict.flaky)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
