import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules import module_files as stub_files
from gristmill.catalog.modules.module_files import remove_old_stubs, write_stubs
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.model import Tool


def test_a_version_is_written_once_and_only_changed_tools_are_written_anew(tmp_path: Path) -> None:
    kept, changed = Tool(server="crm", name="kept"), Tool(server="crm", name="other")
    first = write_stubs(Catalog.from_tools([kept, changed]), tmp_path)
    stamp = (first / "servers").stat().st_mtime_ns
    assert write_stubs(Catalog.from_tools([changed, kept]), tmp_path) == first
    assert (first / "servers").stat().st_mtime_ns == stamp
    second = write_stubs(Catalog.from_tools([kept, Tool(server="crm", name="other", description="new")]), tmp_path)
    inodes = [(root / "servers/crm/kept.py").stat().st_ino for root in (first, second)]
    assert second != first
    assert inodes[0] == inodes[1]
    assert (first / "servers/crm/other.py").read_text() != (second / "servers/crm/other.py").read_text()


def test_what_was_learned_is_part_of_the_version(tmp_path: Path) -> None:
    catalog = Catalog.from_tools([Tool(server="crm", name="get")])
    learned = {"crm.get": LearnedResultType(schema={"type": "string"}, calls=1)}
    assert write_stubs(catalog, tmp_path, learned) != write_stubs(catalog, tmp_path)


def test_files_are_read_only_and_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_stubs(Catalog.from_tools([Tool(server="crm", name="get")]), tmp_path)
    modes = {path.stat().st_mode & 0o777 for path in root.rglob("*.py")}
    assert (modes, root.stat().st_mode & 0o777) == ({0o444}, 0o755)

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="disk full"):
        write_stubs(Catalog.from_tools([Tool(server="crm", name="other")]), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([root.name, "tools"])


def test_another_process_may_publish_the_same_version_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog.from_tools([Tool(server="crm", name="get")])
    write = stub_files._write_tree  # pyright: ignore[reportPrivateUsage]

    def overtaken(catalog: Catalog, root: Path, learned: dict[str, LearnedResultType]) -> None:
        write(catalog, root, learned)
        monkeypatch.setattr(stub_files, "_write_tree", write)
        write_stubs(catalog, tmp_path)

    monkeypatch.setattr(stub_files, "_write_tree", overtaken)
    assert (write_stubs(catalog, tmp_path) / "servers/crm/get.py").is_file()
    assert len(list(tmp_path.iterdir())) == 2


def test_versions_nobody_needs_can_be_forgotten(tmp_path: Path) -> None:
    old = write_stubs(Catalog.from_tools([Tool(server="crm", name="old")]), tmp_path)
    new = write_stubs(Catalog.from_tools([Tool(server="crm", name="new")]), tmp_path)
    remove_old_stubs(tmp_path, keep=[new])
    assert (old.exists(), (new / "servers/crm/new.py").exists()) == (False, True)


@pytest.mark.requirement("T35")
def test_a_name_that_is_not_safe_never_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog.from_tools([Tool(server="crm", name="get")])
    monkeypatch.setitem(catalog.__dict__, "modules", {"crm": "../outside"})
    with pytest.raises(ValueError, match="file name"):
        write_stubs(catalog, tmp_path / "stubs")
    assert not (tmp_path / "stubs" / "outside").exists()


NAMES = st.text(max_size=20) | st.sampled_from(["../x", "/etc/passwd", "a/b", "__init__", ".", "..", "a\x00b", "con", "x.py"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.tuples(NAMES, NAMES), max_size=4))
def test_all_files_lie_in_their_servers_folder(tmp_path: Path, names: list[tuple[str, str]]) -> None:
    catalog = Catalog.from_tools([Tool(server=server, name=name) for server, name in names])
    root = write_stubs(catalog, tmp_path)
    files = [path.relative_to(root) for path in root.rglob("*") if path.suffix == ".py"]
    assert all(len(path.parts) <= 3 for path in files)
    assert len(files) == 1 + len(catalog.modules) + len(catalog)
