"""An entry goes into a TOML or YAML file and out again; everything else stays as it was."""

import tomllib
from typing import Any

import pytest
import yaml

from gristmill.mcp_configs import edit_toml, edit_yaml

ENTRY: dict[str, Any] = {"command": "gristmill", "args": ["serve", "--config", "/a b/gristmill.toml"]}
CODEX = ("mcp_servers", "gristmill")
GOOSE = ("extensions", "gristmill")


@pytest.mark.parametrize(
    "text",
    ["", '# mine\nmodel = "x"\n\n[mcp_servers.a]\ncommand = "b"  # why\n\n[other]\nz = 1\n', '[mcp_servers.a]\ncommand = "b"\n'],
)
def test_toml_comes_back_byte_for_byte(text: str) -> None:
    inside = edit_toml.put_value(text, CODEX, ENTRY)
    assert tomllib.loads(inside)["mcp_servers"]["gristmill"] == ENTRY
    assert edit_toml.get_value(inside, CODEX) == ENTRY
    assert edit_toml.remove_value(inside, CODEX) == text


def test_toml_without_a_last_newline_and_inline_tables_are_understood() -> None:
    for text in ('model = "x"', 'mcp_servers = {a = {command = "b"}}\n'):
        inside = tomllib.loads(edit_toml.put_value(text, CODEX, ENTRY))
        assert inside["mcp_servers"]["gristmill"] == ENTRY
        assert inside | {"mcp_servers": 0} == tomllib.loads(text) | {"mcp_servers": 0}


BLOCKS = {
    "comments": "# mine\nGOOSE_MODEL: x\nextensions:\n  dev:\n    enabled: true # why\n    args:\n    - a\n\n# tail\nz: 1\n",
    "empty": "extensions: {}\nz: 1\n",
    "wide": "extensions:\n    a:\n        type: builtin\nz: [1, 2]\n",
    "windows lines": "extensions:\r\n  a:\r\n    b: 1\r\nz: 1\r\n",
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_yaml_comes_back_byte_for_byte(text: str) -> None:
    inside = edit_yaml.put_value(text, GOOSE, ENTRY)
    found, before = yaml.safe_load(inside), yaml.safe_load(text)
    assert found == {**before, "extensions": {"gristmill": ENTRY, **before["extensions"]}}
    assert edit_yaml.put_value(inside, GOOSE, ENTRY) == inside
    assert edit_yaml.remove_value(inside, GOOSE) == text


@pytest.mark.parametrize("text", ["", "z: 1", "# only a remark\n"])
def test_a_yaml_list_that_is_missing_is_made(text: str) -> None:
    found = yaml.safe_load(edit_yaml.put_value(text, GOOSE, ENTRY))
    assert found["extensions"] == {"gristmill": ENTRY}


def test_yaml_in_another_style_is_refused_rather_than_spoilt() -> None:
    with pytest.raises(ValueError, match="one key per line"):
        edit_yaml.put_value("extensions: {a: {b: 1}}\n", GOOSE, ENTRY)
