"""A pin belongs to a tool and to the server that it comes from."""

from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.pins.pinned_definitions import load_pins, pin_new_tools, save_pins
from gristmill.model import Tool
from gristmill.runtime.tools.pinning import DefinitionPinning

A = Catalog.from_tools([Tool(server="db", name="read", description="Reads orders.")])
B = Catalog.from_tools([Tool(server="db", name="read", description="Reads patients.")])
NOTHING = Catalog.from_tools([])


def open_pins(folder: Path, origin: str | None, seen: Catalog = NOTHING) -> DefinitionPinning:
    pinning = DefinitionPinning(folder / "pins.json", lambda _: False, lambda _: origin)
    pinning.pin_new_tools(seen)
    return pinning


def test_two_projects_with_a_server_of_one_name_do_not_fight(tmp_path: Path) -> None:
    for _ in range(2):
        for catalog, origin in ((A, "a"), (B, "b")):
            pinning = open_pins(tmp_path, origin)
            pinning.pin_new_tools(catalog)
            assert (pinning.list_held(catalog), pinning.changes(catalog)) == (frozenset(), ())
            assert pinning.is_accepted(catalog, "db.read")


def test_a_change_of_the_same_server_is_noticed_in_every_project(tmp_path: Path) -> None:
    open_pins(tmp_path, "a").pin_new_tools(A)
    changed = open_pins(tmp_path, "a")
    changed.pin_new_tools(B)
    assert changed.list_held(B) == {"db.read"}
    assert not changed.is_accepted(B, "db.read")
    assert [change.key for change in changed.changes(B)] == ["db.read"]
    assert changed.accept(B, dict(B.hashes)) == ("db.read",)
    assert open_pins(tmp_path, "a").is_accepted(B, "db.read")
    assert not open_pins(tmp_path, "a").is_accepted(A, "db.read")


def test_a_pin_of_an_early_version_holds_until_a_project_accepts_its_own(tmp_path: Path) -> None:
    save_pins(pin_new_tools(load_pins(tmp_path / "pins.json"), A), tmp_path / "pins.json")
    early = (tmp_path / "pins.json").read_bytes()
    ours, other = open_pins(tmp_path, "a"), open_pins(tmp_path, "b")
    ours.pin_new_tools(A)
    other.pin_new_tools(B)
    assert (ours.list_held(A), other.list_held(B)) == (frozenset(), {"db.read"})
    assert (tmp_path / "pins.json").read_bytes() == early
    other.accept(B, dict(B.hashes))
    assert open_pins(tmp_path, "b").is_accepted(B, "db.read")
    assert open_pins(tmp_path, "a").is_accepted(A, "db.read")


def test_a_tool_cannot_take_the_place_of_anothers_pin(tmp_path: Path) -> None:
    open_pins(tmp_path, "a").pin_new_tools(A)
    cunning = Catalog.from_tools([Tool(server="db", name="read@a", description="x"), *A])
    pinning = open_pins(tmp_path, "a")
    pinning.pin_new_tools(cunning)
    assert pinning.is_accepted(cunning, "db.read")
    assert not pinning.is_accepted(cunning, "db.read@a")
