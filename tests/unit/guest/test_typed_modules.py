"""Typed modules come from their byte code where it is there and fits, else from Python's own finder."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.module_files import write_stubs
from gristmill.guest.typed_modules import TypedFinder
from gristmill.model import Tool


@pytest.fixture
def finder(tmp_path: Path) -> Iterator[Any]:
    """Finds the modules of one server; what was imported is forgotten afterwards."""
    found: Any = TypedFinder()
    found.folder = str(write_stubs(Catalog.from_tools([Tool(server="crm", name="get")]), tmp_path))
    sys.meta_path.insert(0, found)
    yield found
    sys.meta_path.remove(found)
    for name in [name for name in sys.modules if name.partition(".")[0] == "servers"]:
        del sys.modules[name]


def byte_code(finder: Any) -> Path:
    return next(Path(str(finder.folder)).rglob("crm/__pycache__/get.*.pyc"))


def test_modules_know_their_files_and_their_source(finder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_client", sys)  # something to import from
    monkeypatch.setattr(sys, "call_mcp_tool", print, raising=False)
    package = importlib.import_module("servers.crm")
    tool: Any = package.get
    assert package.__path__ == [f"{finder.folder}/servers/crm"]
    assert tool.__code__.co_filename == f"{finder.folder}/servers/crm/get.py"
    assert inspect.getsource(tool).startswith("def get(")


def test_byte_code_names_no_folder_of_the_host(finder: Any, tmp_path: Path) -> None:
    files = list(Path(str(finder.folder)).rglob("*.pyc"))
    assert len(files) == 3
    assert not any(str(tmp_path.parent).encode() in file.read_bytes() for file in files)


@pytest.mark.parametrize("name", ["json", "servers.crm.get.more", "servers.crm.absent", "servers.other"])
def test_it_answers_for_nothing_else(finder: Any, name: str) -> None:
    assert finder.find_spec(name) is None


def test_byte_code_of_another_python_is_left_alone(finder: Any) -> None:
    file = byte_code(finder)
    assert finder.find_spec("servers.crm.get") is not None
    file.chmod(0o644)
    file.write_bytes(b"\0\0\r\n" + file.read_bytes()[4:])
    assert finder.find_spec("servers.crm.get") is None
