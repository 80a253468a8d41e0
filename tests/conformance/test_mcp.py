"""The official conformance suite, both revisions and both roles: our server in front of a fixture, our upstream client."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import node_24

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
NOT_APPLICABLE = tomllib.loads((HERE / "not_applicable.toml").read_text())
REVISIONS = ["2025-11-25", "2026-07-28"]
ENVIRON = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}

pytestmark = pytest.mark.timeout(600)


@contextmanager
def _started(command: list[str], *, ready: str, on: str) -> Generator[str]:
    """A process that has said ``ready``; yields that line."""
    pipes = {"stdout": subprocess.PIPE} if on == "stdout" else {"stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRON, cwd=ROOT, text=True, **pipes) as process:  # pyright: ignore[reportArgumentType, reportCallIssue]
        try:
            stream = process.stdout if on == "stdout" else process.stderr
            assert stream
            yield next(line for line in stream if re.search(ready, line))
        finally:
            process.terminate()


def _suite(*words: str) -> str:
    node, script = node_24(SUITE)
    done = subprocess.run([node, script, *words], env=ENVIRON, cwd=ROOT, text=True, capture_output=True, timeout=500, check=False)
    return done.stdout + done.stderr


def _verdicts(report: str) -> dict[str, bool]:
    summary = report.rpartition("SUMMARY ===")[2].partition("Not scored")[0]
    return {name: mark == "✓" for mark, name in re.findall(r"^(✓|✗) ([\w/.-]+): ", summary, re.M)}


def _failed(report: str) -> set[str]:
    return {name for name, passed in _verdicts(report).items() if not passed}


def _required(revision: str, role: str) -> set[str]:
    text = (Path(node_24(SUITE)[1]).parents[1] / "requirements" / f"{revision}.yaml").read_text()
    section = re.search(rf"^{role}:\n((?:  - .*\n)+)", text, re.M)
    assert section
    return set(re.findall(r"- ([\w/.-]+)", section[1]))


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_passes_every_required_scenario(revision: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.conformance.passthrough", sys.executable, str(HERE / "fixture.py")]
    with _started(command, ready="listening on", on="stderr") as line:
        url = line.split()[-1].replace("127.0.0.1", "localhost")
        report = _suite("server", "--url", url, "--requirements", revision, "-o", str(tmp_path / "out"))

    assert _required(revision, "server") <= _verdicts(report).keys(), report[-3000:]
    assert _failed(report) == NOT_APPLICABLE["server"][revision].keys(), report[-3000:]


def test_our_own_tasks_pass_the_scenarios_of_the_tasks_extension(tmp_path: Path) -> None:
    scenarios = {name for name in NOT_APPLICABLE["server"]["2026-07-28"] if name.startswith("tasks-")}
    with _started([sys.executable, "-m", "tests.conformance.tasks_fixture"], ready="listening on", on="stderr") as line:
        url = line.split()[-1].replace("127.0.0.1", "localhost")

        def run(name: str) -> tuple[str, str]:
            options = ("--scenario", name, "--spec-version", "2026-07-28", "--force", "-o", str(tmp_path / name))
            return name, _suite("server", "--url", url, *options)

        with ThreadPoolExecutor(len(scenarios)) as threads:
            reports = dict(threads.map(run, scenarios))

    failed = {name for name, report in reports.items() if not re.search(r"Passed: (\d+)/\1, 0 failed", report)}
    assert not failed, "\n".join(reports[name][-2000:] for name in failed)
    assert len(scenarios) == 9


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_upstream_client_passes_every_required_scenario(revision: str, tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with _started([sys.executable, "-m", "tests.conformance.forked", str(socket)], ready="ready", on="stdout"):
        client = f"{sys.executable} -I -S {HERE / 'submit.py'} {socket}"
        options = ("--requirements", revision, "--timeout", "120000", "-o", str(tmp_path / "out"))
        report = _suite("client", "--command", client, *options)

    assert _required(revision, "client") <= _verdicts(report).keys(), report[-3000:]
    assert _failed(report) == NOT_APPLICABLE["client"][revision].keys(), report[-3000:]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("role", ["server", "client"])
def test_nothing_that_a_revision_requires_is_listed_as_not_applicable(role: str, revision: str) -> None:
    assert not _required(revision, role) & NOT_APPLICABLE[role][revision].keys()
