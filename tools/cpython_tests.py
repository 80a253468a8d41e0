"""Runs CPython's own tests outside and inside the sandbox: one that passes outside must pass inside, or be listed with a reason.

``python tools/cpython_tests.py`` runs all modules of ``tests/data/cpython_tests.toml``, with ``--quick`` a subset of them.
The tests are those of the running Python's ``test`` package; Debian and Ubuntu have them in the package ``libpython3-testsuite``.
"""

import argparse
import fnmatch
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from gristmill import BlockingRuntime, Config

DATA = Path(__file__).parents[1] / "tests" / "data" / "cpython_tests.toml"
SECONDS = 240
LEAST_SHARE = 0.995
"""The share of the tests which pass outside that must pass inside."""
PROGRAM = """
import io, json, os, sys, unittest, warnings
import test.support
test.support.use_resources, test.support.verbose = [], 0

class Record(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed, self.failed = [], {}
    def addSuccess(self, test):
        self.passed.append(test.id())
    def note(self, test, error):
        self.failed[test.id().partition(" [")[0].partition(" (<subtest>")[0]] = f"{error[0].__name__}: {error[1]}"[:300]
    addError = addFailure = note
    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(test, error)
    def addUnexpectedSuccess(self, test):
        self.failed[test.id()] = "unexpected success"

def run(name):
    record, output = Record(), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = io.StringIO()
    warnings.simplefilter("ignore")
    try:
        try:
            unittest.defaultTestLoader.loadTestsFromName(name).run(record)
        except unittest.SkipTest as skipped:
            record.failed.clear()
    finally:
        sys.stdout, sys.stderr = output
    return {"passed": [one for one in record.passed if one not in record.failed], "failed": record.failed}
"""


class ModuleResult(Struct, frozen=True, kw_only=True):
    """What one module's tests did: the passed ones, and the failed ones with their errors."""

    passed: frozenset[str] = frozenset()
    failed: dict[str, str] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tests and prints what fails only inside; returns 1 when that is more than is listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("test.support") is None:
        print("this Python has no tests of its own: install its `test` package (Debian: libpython3-testsuite)")
        return 1
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    modules: list[str] = options.modules or (data["quick"] if options.quick else data["quick"] + data["modules"])
    reasons: dict[str, str] = {pattern: group["reason"] for group in data["exceptions"] for pattern in group["tests"]}
    passed = unlisted = listed = 0
    with open_sandbox() as runtime:
        for module in modules:
            outside = run_outside(f"test.{module}")
            inside = run_inside(runtime, f"test.{module}")
            lost = sorted(outside.passed - inside.passed)
            unknown = [name for name in lost if not any(fnmatch.fnmatchcase(name, pattern) for pattern in reasons)]
            passed, listed, unlisted = passed + len(outside.passed), listed + len(lost) - len(unknown), unlisted + len(unknown)
            print(
                f"{module}: {len(outside.passed)} pass outside, {len(lost)} of them not inside, {len(unknown)} without a reason"
            )
            for name in unknown:
                print(f"  {name}: {inside.failed.get(name) or inside.failed.get('*', 'not run')}", flush=True)
    share = 1 - (listed + unlisted) / max(1, passed)
    print(f"{passed} tests of {len(modules)} modules pass outside, {share:.2%} of them inside; {unlisted} without a reason")
    return 0 if passed and not unlisted and share >= LEAST_SHARE else 1


def run_outside(name: str) -> ModuleResult:
    """Runs a module in a plain interpreter, in an empty folder."""
    code = f"{PROGRAM}\nprint(json.dumps(run({name!r})), file=sys.__stdout__)"
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "LANG": "C.UTF-8", "TZ": "UTC"}
        # Without site-packages, which the sandbox does not have either.
        command = [os.path.realpath(sys.executable), "-S", "-c", code]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ModuleResult()
    return _read_result(json.loads(done.stdout.strip().splitlines()[-1])) if done.returncode == 0 else ModuleResult()


def run_inside(runtime: BlockingRuntime, name: str) -> ModuleResult:
    """Runs a module as a program in the sandbox."""
    outcome = runtime.execute(f"{PROGRAM}\njson.dumps(run({name!r}))")
    if outcome.status != "ok":
        return ModuleResult(failed={"*": f"{outcome.status}: {outcome.limit or outcome.error}"[:500]})
    return _read_result(json.loads(outcome.result))


def _read_result(found: dict[str, Any]) -> ModuleResult:
    return ModuleResult(passed=frozenset(found["passed"]), failed=found["failed"])


@contextmanager
def open_sandbox() -> Generator[BlockingRuntime]:
    """Opens a runtime whose programs can import the ``test`` package: it lies in a folder of installed packages."""
    spec = importlib.util.find_spec("test")
    assert spec is not None
    assert spec.origin is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        site = folder / "venv" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        shutil.copytree(Path(spec.origin).parent, site / "test", ignore=shutil.ignore_patterns("__pycache__"))
        limits = {
            "seconds": SECONDS, "cpu_seconds": SECONDS, "memory_mb": 1024, "workspace_mb": 512, "result_bytes": 16_000_000,
            "open_files": 512, "processes": 512, "file_mb": 512,
        }  # fmt: skip
        sections: dict[str, Any] = {
            "store": {"path": folder / "state"},
            "mask": {"mode": "off"},
            "shaping": {"strategy": "full", "output_tokens": 10_000_000},
            "sandbox": {"warm": 1, "venv": folder / "venv", "limits": limits},
        }
        with BlockingRuntime(Config.model_validate(sections)) as runtime:
            yield runtime


if __name__ == "__main__":
    sys.exit(main())
