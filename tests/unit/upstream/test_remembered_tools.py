"""The catalogue on disk is believed only if it belongs to the configuration and is whole."""

import stat
from pathlib import Path

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.model import Tool
from gristmill.upstream.remembered_tools import Remembered, load, save

CONFIG = ServerConfig(command="x")
TOOLS = (
    Tool(server="s", name="b", input_schema={"type": "object"}, output_schema={"type": "array"}, title="B"),
    Tool(server="s", name="a", description="ü", annotations={"readOnlyHint": True}),
)
KNOWN = Remembered(era="legacy", tools=TOOLS)


def test_what_was_saved_is_loaded_in_order(tmp_path: Path) -> None:
    save(tmp_path / "cache", "s", CONFIG, KNOWN)
    assert load(tmp_path / "cache", "s", CONFIG) == KNOWN
    assert stat.S_IMODE((tmp_path / "cache" / "s.json").stat().st_mode) == 0o600
    assert [file.name for file in (tmp_path / "cache").iterdir()] == ["s.json"]


def test_another_configuration_knows_nothing(tmp_path: Path) -> None:
    save(tmp_path, "s", CONFIG, KNOWN)
    assert load(tmp_path, "s", ServerConfig(command="y")) == Remembered()
    assert load(tmp_path, "other", CONFIG) == Remembered()
    # Settings that do not change what a server offers keep its catalogue.
    assert load(tmp_path, "s", ServerConfig(command="x", connect="background")) == KNOWN


def test_a_file_that_was_changed_or_broken_is_not_believed(tmp_path: Path) -> None:
    save(tmp_path, "s", CONFIG, KNOWN)
    file = tmp_path / "s.json"
    whole = file.read_text()
    for text in (
        whole.replace("ü", "now deletes everything"),
        whole[:-20],
        "",
        "[]",
        whole.replace('"format":1', '"format":2'),
    ):
        file.write_text(text)
        assert load(tmp_path, "s", CONFIG) == Remembered()


def test_what_is_known_already_is_not_written_again(tmp_path: Path) -> None:
    save(tmp_path, "s", CONFIG, KNOWN)
    first = (tmp_path / "s.json").stat().st_ino
    save(tmp_path, "s", CONFIG, KNOWN)
    assert (tmp_path / "s.json").stat().st_ino == first
    save(tmp_path, "s", CONFIG, Remembered(era="modern", tools=TOOLS))
    assert (tmp_path / "s.json").stat().st_ino != first
    assert load(tmp_path, "s", CONFIG).era == "modern"
