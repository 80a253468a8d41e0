"""The files for GitHub fit their schemas, and the workflows run nothing that a contributor could not run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))


def check_schema(schema: str, *files: Path) -> tuple[int, str]:
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_the_workflows_fit_their_schema() -> None:
    assert len(WORKFLOWS) == 2
    assert check_schema("vendor.github-workflows", *WORKFLOWS)[0] == 0


def test_the_settings_of_dependabot_fit_their_schema() -> None:
    status, printed = check_schema("vendor.dependabot", ROOT / ".github" / "dependabot.yml")
    assert status == 0, printed


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_targets_and_tools_that_exist(workflow: Path) -> None:
    text = workflow.read_text()
    assert set(re.findall(r"\bmake ([a-z-]+)$", text, re.MULTILINE)) <= TARGETS
    assert [tool for tool in re.findall(r"tools/\w+\.py", text) if not (ROOT / tool).exists()] == []


def test_ci_runs_every_supported_python() -> None:
    (versions,) = re.findall(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert [version.strip('" ') for version in versions.split(",")] == ["3.11", "3.12", "3.13", "3.14"]


def test_only_the_publishing_job_has_more_rights_than_reading() -> None:
    assert all("permissions:\n  contents: read\n" in workflow.read_text() for workflow in WORKFLOWS)
    rights = [right for workflow in WORKFLOWS for right in re.findall(r"^\s+([\w-]+): write", workflow.read_text(), re.MULTILINE)]
    assert rights == ["id-token"]
