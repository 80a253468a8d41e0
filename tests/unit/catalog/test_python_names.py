import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.python_names import MAX_LENGTH, Role, make_python_name, make_python_names

FILE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
ROLES = st.sampled_from(["server", "tool", "argument"])


@pytest.mark.parametrize(
    ("name", "role", "expected"),
    [
        ("search_issues", "tool", "search_issues"),
        ("get-user", "tool", "get_user"),
        ("files/read.all", "tool", "files_read_all"),
        ("from", "argument", "from_"),
        ("resource-group", "argument", "resource_group"),
        ("id", "argument", "id"),
        ("_id", "argument", "_id"),
        ("名前", "argument", "名前"),
        ("\ufb01eld", "argument", "field"),
        ("__debug__", "argument", "debug"),
        ("__init__", "tool", "init"),
        ("print", "tool", "print_"),
        ("call_mcp_tool", "tool", "call_mcp_tool_"),
        ("_arguments", "argument", "_arguments_"),
        ("3d-model", "tool", "tool_3d_model"),
        ("café", "server", "cafe"),
        ("\uff46\uff55ll", "tool", "full"),
        ("../../etc/passwd", "server", "etc_passwd"),
    ],
)
def test_names_become_what_a_reader_expects(name: str, role: Role, expected: str) -> None:
    assert make_python_name(name, role) == expected


def test_a_name_without_usable_letters_gets_one_made_of_its_hash() -> None:
    assert make_python_name("", "tool") == "tool_e3b0c4"
    assert make_python_name("查询", "tool") != make_python_name("搜索", "tool")


def test_a_long_name_is_cut_and_stays_distinct() -> None:
    one, two = make_python_name("a" * 200, "tool"), make_python_name("a" * 201, "tool")
    assert one != two
    assert len(one) == len(two) == MAX_LENGTH


def test_of_colliding_names_the_exact_one_stays_plain_whatever_the_order() -> None:
    names = ["get-user", "get user", "get_user"]
    settled = make_python_names(names, "tool")
    assert settled["get_user"] == "get_user"
    assert make_python_names(reversed(names), "tool") == settled
    assert len(set(settled.values())) == 3


@given(st.lists(st.text(max_size=300)), ROLES)
def test_any_names_become_distinct_names_that_python_accepts(names: list[str], role: Role) -> None:
    settled = make_python_names(names, role)
    assert list(settled) == list(dict.fromkeys(names))
    assert len(set(settled.values())) == len(settled)
    for name in settled.values():
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert not name.startswith("__")
        assert role == "argument" or FILE_NAME.fullmatch(name)
    # Python compares identifiers in NFKC: two names here must not be one name there.
    source = f"def f({', '.join(settled.values())}): pass"
    compile(source, "names", "exec")
