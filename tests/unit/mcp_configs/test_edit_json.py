"""An entry goes into a JSON file and out again; everything else stays as it was."""

import json
from typing import Any

import json5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.mcp_configs import edit_json
from gristmill.mcp_configs.scan_json import UnreadableError

PATH = ("mcpServers", "gristmill")
ENTRY: dict[str, Any] = {"command": "gristmill", "args": ["serve"]}

COMMENTED = """{
  // my servers
  "mcpServers": {
    "time": {"command": "uvx"} // keep me
  },
  "z": 1, /* and me */
}
"""
SEEN = """{
  // my servers
  "mcpServers": {
    "time": {"command": "uvx"}, // keep me
    "gristmill": {
      "command": "gristmill",
      "args": [
        "serve"
      ]
    }
  },
  "z": 1, /* and me */
}
"""
ROUND = {
    "comments": COMMENTED,
    "tabs and trailing commas": '{\n\t"mcpServers": {\n\t\t"a": {},\n\t},\n}\n',
    "one line": '{"mcpServers":{"a":{},"b":{}}}',
    "windows lines": '{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    "no last newline": '{\n  "mcpServers": {\n    "a": {}\n  }\n}',
    "a brace in a string": '{\n  "mcpServers": {\n    "a": {"x": "}, // no comment \\" {"}\n  }\n}\n',
}


def test_comments_and_spacing_stay() -> None:
    assert edit_json.put_value(COMMENTED, PATH, ENTRY) == SEEN


@pytest.mark.parametrize("text", ROUND.values(), ids=ROUND)
def test_what_goes_in_comes_out_byte_for_byte(text: str) -> None:
    inside = edit_json.put_value(text, PATH, ENTRY)
    assert edit_json.get_value(inside, PATH) == ENTRY
    assert edit_json.remove_value(inside, PATH) == text


@pytest.mark.parametrize(
    "text", ["", "{}", "{\n}\n", '{"a": 1}', '{"mcpServers": {}}', '{ "mcpServers": { // none\n } }', "// x\n{}"]
)
def test_lists_that_are_empty_or_missing_are_made(text: str) -> None:
    inside = edit_json.put_value(text, PATH, ENTRY)
    found: Any = json5.loads(inside)  # pyright: ignore[reportUnknownMemberType]
    assert found["mcpServers"] == {"gristmill": ENTRY}
    before: Any = json5.loads(text or "{}")  # pyright: ignore[reportUnknownMemberType]
    assert {**found, "mcpServers": {}} == {**before, "mcpServers": {}}


def test_an_entry_is_replaced_where_it_stands() -> None:
    text = '{\n  "mcpServers": {\n    "gristmill": {"command": "old"}, // ours\n    "b": {}\n  }\n}\n'
    changed = edit_json.put_value(text, PATH, {"command": "new"})
    assert changed == '{\n  "mcpServers": {\n    "gristmill": {\n      "command": "new"\n    }, // ours\n    "b": {}\n  }\n}\n'


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', "[1, 2", "{'a': 1}", '{"a": 1} x', "{" * 500, '{"a": tru}', '{"a": 1 /* open }']
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        edit_json.put_value(text, PATH, ENTRY)


def test_a_list_that_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="mcpServers is not an object"):
        edit_json.put_value('{"mcpServers": []}', PATH, ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_any_document_keeps_its_other_values(document: dict[str, Any], indent: int | str | None) -> None:
    document = {**document, "mcpServers": {"other": {"x": 1}}}
    text = json.dumps(document, indent=indent)
    inside = edit_json.put_value(text, PATH, ENTRY)
    assert json.loads(inside) == {**document, "mcpServers": {"other": {"x": 1}, "gristmill": ENTRY}}
    assert edit_json.remove_value(inside, PATH) == text
