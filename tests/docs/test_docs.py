"""Documentation that fails the build: every example runs, every link leads somewhere, the reference is up to date."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.config.tree import load_config
from tests.servers.warm import warm_module

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TYPED_FIRST = ("README.md", "docs/index.md", "docs/guides/quick-start.md", "docs/guides/run-code.md")
"""Pages whose commands are started as a newcomer starts them: by the installed program, from nothing."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    """Name and text of every block in that language; make targets are tested by whoever calls them."""
    found = [
        (f"{page.relative_to(ROOT)}:{number}", text)
        for page in PAGES
        for number, (kind, text) in enumerate(BLOCK.findall(page.read_text()))
        if kind == language
    ]
    # A program for the sandbox and a configuration that names a server to be fetched are shown, not run.
    return [(name, text) for name, text in found if not text.startswith(("make ", "# program.py", "# gristmill.toml"))]


def environment(state: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Examples that write into a client's configuration must not find that of whoever runs the tests.
    home = {"HOME": str(state / "home"), "XDG_CONFIG_HOME": str(state / "home" / ".config"), "XDG_STATE_HOME": str(state)}
    return {**os.environ, **home, "PATH": path, "GRISTMILL_STORE__PATH": str(state), "NO_COLOR": "1"}


@pytest.mark.parametrize(("name", "text"), blocks("python"))
def test_python_examples_run(name: str, text: str, state: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env=environment(state),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (name, done.returncode, done.stderr) == (name, 0, "")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ``gristmill`` that starts without a second of imports."""
    program = tmp_path_factory.mktemp("bin") / "gristmill"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(warm_module("gristmill"))} "$@"\n')
    program.chmod(0o755)
    return program.parent


@pytest.mark.parametrize(("name", "text"), blocks("sh"))
def test_shell_examples_run(name: str, text: str, state: Path, tmp_path: Path, quick: Path) -> None:
    env = environment(state)
    if not name.startswith(TYPED_FIRST):
        env["PATH"] = f"{quick}:{env['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert (name, done.returncode) == (name, 0), done.stderr


@pytest.mark.parametrize(("name", "text"), blocks("toml"))
def test_configuration_examples_are_accepted(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text(text)
    load_config(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/reference.py"), "--check"], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
