import json
from pathlib import Path

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.pins.pinned_definitions import (
    DefinitionEdit,
    Pins,
    accept_changes,
    find_changes,
    load_pins,
    pin_new_tools,
    pins_from_json,
    pins_to_json,
    remove_changed_tools,
    save_pins,
)
from gristmill.errors import ConfigError
from gristmill.model import Json, Tool


def catalog(**more: Json) -> Catalog:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {}}}
    entries: dict[str, Json] = {"description": "Gets one.", "input_schema": schema, **more}
    return Catalog.from_tools([Tool(server="crm", name="get", **entries), Tool(server="crm", name="other")])


@pytest.mark.parametrize(
    ("more", "edit"),
    [
        ({"description": "Gets\u200b one."}, DefinitionEdit(place="description", old='"Gets one."', new='"Gets\\u200b one."')),
        ({"annotations": {"readOnlyHint": True}}, DefinitionEdit(place="annotations.readOnlyHint", old=None, new="true")),
        ({"output_schema": {}}, DefinitionEdit(place="output_schema", old="null", new="{}")),
        (
            {"input_schema": {"type": "object", "properties": {"id": {"type": "string"}, "name": {}}}},
            DefinitionEdit(place="input_schema.properties.id.type", old='"integer"', new='"string"'),
        ),
        (
            {"input_schema": {"type": "object", "properties": {"name": {}, "id": {"type": "integer"}}}},
            DefinitionEdit(place="input_schema.properties", old="order: id, name", new="order: name, id"),
        ),
    ],
    ids=["description", "annotation", "output", "input", "order"],
)
def test_any_change_after_first_sight_is_shown_and_held_back(more: dict[str, Json], edit: DefinitionEdit) -> None:
    pins = pin_new_tools(Pins(), catalog())
    later = catalog(**more)
    assert [(change.key, change.edits) for change in find_changes(pins, later)] == [("crm.get", (edit,))]
    assert list(remove_changed_tools(pins, later).tools) == ["crm.other"]
    assert pin_new_tools(pins, later) == pins


def test_an_unchanged_catalog_passes_as_it_is() -> None:
    now = catalog()
    pins = pin_new_tools(Pins(), now)
    assert find_changes(pins, now) == ()
    assert remove_changed_tools(pins, now) is now


def test_accepting_pins_the_definition_that_was_looked_at_and_no_newer_one() -> None:
    pins = pin_new_tools(Pins(), catalog())
    looked_at, newer = catalog(description="Better."), catalog(description="Evil.")
    accepted = {change.key: change.seen for change in find_changes(pins, looked_at)}
    assert find_changes(accept_changes(pins, looked_at, accepted), looked_at) == ()
    assert accept_changes(pins, newer, accepted) == pins


def test_a_tool_that_left_cannot_come_back_as_another() -> None:
    pins = pin_new_tools(pin_new_tools(Pins(), catalog()), Catalog.from_tools([]))
    assert [change.key for change in find_changes(pins, catalog(description="Evil."))] == ["crm.get"]


def test_a_diff_is_bounded_and_readable() -> None:
    pins = pin_new_tools(Pins(), catalog())
    noisy = catalog(annotations={f"note{number}": "x" * 1_500 for number in range(500)})
    text = str(find_changes(pins, noisy)[0])
    assert len(text) < 150_000
    assert text.startswith('crm.get changed:\n  annotations.note0\n  + "xxx')


def test_pins_survive_json_and_a_file(tmp_path: Path) -> None:
    pins = pin_new_tools(Pins(), catalog(description="Ünïcode \ud800"))
    assert pins_from_json(json.loads(json.dumps(pins_to_json(pins)))) == pins
    path = tmp_path / "state" / "pins.json"
    assert load_pins(path) == Pins()
    save_pins(pins, path)
    assert load_pins(path) == pins
    assert [each.name for each in path.parent.iterdir()] == ["pins.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1, "pins": {"a": 5}}', '{"version": 2, "pins": {}}'])
def test_a_damaged_file_never_counts_as_no_pins(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pins.json"
    path.write_text(content)
    with pytest.raises(ConfigError):
        load_pins(path)


def test_pins_of_a_newer_version_are_neither_read_nor_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    path.write_text('{"version": 9, "pins": {}}')
    with pytest.raises(
        ConfigError, match="its format is 9, and this version of Gristmill reads 1: use the version that wrote it"
    ):
        load_pins(path)
