"""Our own OpenAPI against our own service: generated requests, valid and not, and every answer as the schema says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.http.conftest import SETTINGS, Start


@pytest.mark.timeout(420)
def test_every_operation_answers_as_its_schema_says(starting: Start, tmp_path: Path) -> None:
    # A token is required here too, so that a request without one is expected to fail.
    settings = SETTINGS.replace("body_bytes = 200_000", "body_bytes = 8_000_000") + "require_token = true\n"
    with starting(settings) as service:
        # One worker: CPython 3.11 before 3.11.9 may fail to parse in two threads at once (python/cpython#106905).
        command = [
            Path(sys.executable).parent / "schemathesis", "run", f"{service.url}/openapi.json",
            "-H", f"Authorization: Bearer {service.tokens['admin']}", "--phases", "examples,coverage,fuzzing",
            "--max-examples", "5", "--checks", "all", "--seed", "7", "--no-shrink", "--workers", "1", "--warnings", "off",
            "--exclude-path", "/executions/{id}/events", "--exclude-path", "/events", "--suppress-health-check", "all",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
        assert service.process.poll() is None
    assert done.returncode == 0, done.stdout[-6_000:]
