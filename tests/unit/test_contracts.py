"""The import contracts of pyproject.toml catch what they are there for: each forbidden import is put into a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = "doors over runs over hall over rooms over ground; rooms are strangers"
STANDALONE = "what runs inside the jail imports the standard library and itself"
DOORS = "doors reach rooms through the hall"
PACKAGES = "third-party packages stay where they belong"

MUTATIONS = {
    "the guest imports json5": ("guest", "json5", {STANDALONE, PACKAGES}),
    "the guest imports numpy": ("guest", "numpy", {STANDALONE, PACKAGES}),
    "the guest imports the model": ("guest", "gristmill.model", {STANDALONE}),
    "the Linux backend imports msgspec": ("sandbox/linux", "msgspec", {STANDALONE}),
    "the Linux backend imports its own room": ("sandbox/linux", "gristmill.sandbox.base", {STANDALONE}),
    "a room imports the guest": (
        "sandbox",
        "gristmill.guest.calls.channel",
        {"the guest is shipped as source and never imported"},
    ),
    "catalog imports mcp": ("catalog", "mcp", {PACKAGES}),
    "runtime imports starlette": ("runtime", "starlette", {PACKAGES}),
    "shaping imports typer": ("shaping", "typer", {PACKAGES}),
    "HTTP imports rich": ("serve/http", "rich", {PACKAGES}),
    "HTTP imports LangChain": ("serve/http", "langchain_core", {PACKAGES}),
    "the public names import LangGraph": ("__init__.py", "langgraph", {PACKAGES}),
    "a package without a line in the table": ("runtime", "yaml_of_a_stranger", {PACKAGES}),
    "a door imports guard": ("serve", "gristmill.guard.policy.policy", {DOORS}),
    "a door imports shaping": ("serve/mcp", "gristmill.shaping", {DOORS}),
    "a door names a value of a room": ("serve/http/routes", "gristmill.session.session_register", {DOORS}),
    "a verb examines the sandbox itself": ("serve/cli/verbs/setup", "gristmill.sandbox.selfcheck", {DOORS}),
    "the public names reach into a room": ("__init__.py", "gristmill.sandbox.base", {DOORS}),
    "runs imports a room": ("runs", "gristmill.ledger.metrics", {DOORS}),
    "testing imports a door": ("testing", "gristmill.serve.mcp", {LAYERS}),
    "session imports upstream": ("session", "gristmill.upstream.base", {LAYERS, DOORS}),
    "a room imports the hall": ("ledger", "gristmill.runtime.rooms", {LAYERS}),
    "runs imports a door": ("runs", "gristmill.serve.http", {LAYERS}),
    "the ground imports a room": ("config", "gristmill.catalog", {LAYERS, DOORS}),
    "a door imports the store": ("serve/http", "gristmill.store.base", {"few know the store"}),
}
"""What is written: where (a file, or the first file of a folder), the module that is imported, and the contracts that must break."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, of the contracts and of the kinds of contract that are our own."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "static"))
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "contracts.py", folder / "tools")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def check_contracts(copy: Path) -> tuple[int, str]:
    """Runs import-linter on the copy, not on the installed package; its exit status and what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "COLUMNS": "200"}
    command = [str(Path(sys.executable).with_name("lint-imports")), "--cache-dir", str(copy / ".cache")]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def broken_contracts(printed: str) -> set[str]:
    return set(re.findall(r"^(.+) BROKEN\b", printed, re.MULTILINE))


def first_file(place: Path) -> Path:
    if place.is_file():
        return place
    return min(path for path in place.glob("*.py") if path.name != "__init__.py")


def test_the_tree_as_it_is_keeps_every_contract(copy: Path) -> None:
    status, printed = check_contracts(copy)
    assert (status, broken_contracts(printed)) == (0, set()), printed


def test_no_import_is_excused() -> None:
    assert "ignore_imports" not in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_forbidden_import_breaks_its_contract_and_no_other(name: str, copy: Path) -> None:
    place, module, contracts = MUTATIONS[name]
    file = first_file(copy / "gristmill" / place)
    text = file.read_text()
    file.write_text(f"{text}\nimport {module}\n")
    try:
        status, printed = check_contracts(copy)
    finally:
        file.write_text(text)
    assert (status, broken_contracts(printed)) == (1, contracts), printed
    importer = file.relative_to(copy).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    assert f"{importer} -> {module}" in printed
