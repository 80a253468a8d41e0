"""The catalogue on disk is believed only if it belongs to the configuration and is whole."""

import stat
from pathlib import Path

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.model import Tool
from gristmill.upstream.listing.remembered_tools import RememberedTools, load_remembered_tools, save_remembered_tools

CONFIG = ServerConfig(command="x")
TOOLS = (
    Tool(server="s", name="b", input_schema={"type": "object"}, output_schema={"type": "array"}, title="B"),
    Tool(server="s", name="a", description="ü", annotations={"readOnlyHint": True}),
)
KNOWN = RememberedTools(era="legacy", tools=TOOLS)


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_what_was_saved_is_loaded_in_order(tmp_path: Path) -> None:
    save_remembered_tools(tmp_path / "cache", "s", CONFIG, KNOWN)
    assert load_remembered_tools(tmp_path / "cache", "s", CONFIG) == KNOWN
    assert stat.S_IMODE(only_file(tmp_path / "cache").stat().st_mode) == 0o600


def test_another_configuration_knows_nothing(tmp_path: Path) -> None:
    save_remembered_tools(tmp_path, "s", CONFIG, KNOWN)
    assert load_remembered_tools(tmp_path, "s", ServerConfig(command="y")) == RememberedTools()
    assert load_remembered_tools(tmp_path, "other", CONFIG) == RememberedTools()
    # Settings that do not change what a server offers keep its catalogue.
    assert load_remembered_tools(tmp_path, "s", ServerConfig(command="x", connect="background")) == KNOWN


def test_a_file_that_was_changed_or_broken_is_not_believed(tmp_path: Path) -> None:
    save_remembered_tools(tmp_path, "s", CONFIG, KNOWN)
    file = only_file(tmp_path)
    whole = file.read_text()
    for text in (
        whole.replace("ü", "now deletes everything"),
        whole[:-20],
        "",
        "[]",
        whole.replace('"format":1', '"format":2'),
    ):
        file.write_text(text)
        assert load_remembered_tools(tmp_path, "s", CONFIG) == RememberedTools()


def test_what_is_known_already_is_not_written_again(tmp_path: Path) -> None:
    save_remembered_tools(tmp_path, "s", CONFIG, KNOWN)
    first = only_file(tmp_path).stat().st_ino
    save_remembered_tools(tmp_path, "s", CONFIG, KNOWN)
    assert only_file(tmp_path).stat().st_ino == first
    save_remembered_tools(tmp_path, "s", CONFIG, RememberedTools(era="modern", tools=TOOLS))
    assert only_file(tmp_path).stat().st_ino != first
    assert load_remembered_tools(tmp_path, "s", CONFIG).era == "modern"


def test_two_projects_with_a_server_of_one_name_remember_both(tmp_path: Path) -> None:
    other, tools = ServerConfig(command="y"), RememberedTools(era="modern", tools=TOOLS[:1])
    save_remembered_tools(tmp_path, "s", CONFIG, KNOWN)
    save_remembered_tools(tmp_path, "s", other, tools)
    assert (load_remembered_tools(tmp_path, "s", CONFIG), load_remembered_tools(tmp_path, "s", other)) == (KNOWN, tools)


def test_only_so_many_files_are_kept_for_a_name(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("of an earlier version")
    for number in range(12):
        save_remembered_tools(tmp_path, "s", ServerConfig(command=f"x{number}"), KNOWN)
    assert len(list(tmp_path.iterdir())) == 8
    assert load_remembered_tools(tmp_path, "s", ServerConfig(command="x11")) == KNOWN
