# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
"""Objects of results can be read in both ways, and are dictionaries for everything else."""

import copy
import gc
import json
import pickle
import pprint
from typing import Any

import msgspec
import pytest

from gristmill.guest.values.result_objects import ResultObject, decode_results, install_copies

ROW: dict[str, Any] = {"id": 1, "amount": 2.5, "items": [{"name": "fuel"}], "user": {"name": "Ann"}, "__typename": "Row"}


def make_row() -> Any:
    return decode_results(json.dumps(ROW))


def test_an_object_is_read_by_key_and_by_attribute() -> None:
    row = make_row()
    assert (row["amount"], row.amount, row.user.name, row.__typename) == (2.5, 2.5, "Ann", "Row")
    assert row["items"][0].name == "fuel"
    row.total = 3
    del row.id
    assert (row["total"], "id" in row) == (3, False)


def test_keys_that_are_names_of_methods_stay_methods() -> None:
    row = make_row()
    assert next(iter(row.items())) == ("id", 1)
    with pytest.raises(AttributeError, match="belongs to every dictionary"):
        row.items = 1


def test_questions_of_libraries_are_not_answered_by_a_key() -> None:
    row = decode_results('{"__array__": [1], "__class__": "x", "__dict__": {}}')
    assert not hasattr(row, "__array__")
    assert row.__class__ is ResultObject


def test_it_is_a_dictionary_for_everything_else() -> None:
    row = make_row()
    assert row == ROW
    assert ROW == row  # noqa: SIM300 - both sides decide
    assert isinstance(row, dict)
    assert type(row) == dict  # noqa: E721 - programs compare types like this
    assert {dict: "found"}[type(row)] == "found"
    assert (str(type(row)), repr(row), pprint.pformat(row)) == ("<class 'dict'>", repr(ROW), pprint.pformat(ROW))
    assert json.loads(json.dumps(row)) == json.loads(json.dumps(row, indent=1)) == ROW
    assert msgspec.json.encode(row) == msgspec.json.encode(ROW)
    assert {**row} == dict(row) == dict(**row) == ROW
    match row:
        case {"amount": amount, "user": {"name": str(name)}}:
            assert (amount, name) == (2.5, "Ann")
        case _:
            pytest.fail("a mapping pattern did not match")


def test_what_is_pickled_is_read_where_the_class_is_unknown() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(make_row(), protocol)
        again = pickle.loads(data)
        assert again == ROW
        assert type(again) is dict
        assert b"gristmill" not in data


def test_copies_can_be_read_in_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_copy_dispatch", "_deepcopy_dispatch"):
        monkeypatch.setattr(copy, table, dict(getattr(copy, table)))
    install_copies()
    row = make_row()
    for copied in (copy.copy(row), copy.deepcopy(row), row.copy(), row | {"more": 1}, {"more": 1} | row):
        assert copied.user.name == "Ann"
        assert copied is not row
    deep = copy.deepcopy([row, row])
    assert deep[0] is deep[1]
    assert deep[0].user is not row.user
    plain = copy.deepcopy({"a": [1]})
    assert (plain, type(plain), type(copy.copy(plain))) == ({"a": [1]}, dict, dict)


@pytest.mark.parametrize(
    ("key", "message"),
    {
        "amout": "'amout' is no key of this object; it has id, amount, items, user, __typename; did you mean 'amount'?",
        "typeName": "'typeName' is no key of this object; it has id, amount, items, user, __typename; did you mean '__typename'?",
        "zzz": "'zzz' is no key of this object; it has id, amount, items, user, __typename",
        0: "0 is no key of this object; it has id, amount, items, user, __typename",
    }.items(),
)
def test_a_missing_key_says_which_there_are(key: Any, message: str) -> None:
    with pytest.raises(KeyError) as caught:
        make_row()[key]
    assert (str(caught.value), caught.value.args, repr(caught.value)) == (message, (key,), repr(KeyError(key)))
    assert pickle.loads(pickle.dumps(caught.value)).args == (key,)


def test_a_missing_attribute_says_which_there_are() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = make_row().usr
    assert str(caught.value) == "this object has no 'usr'; it has id, amount, items, user, __typename; did you mean 'user'?"
    with pytest.raises(AttributeError, match="it is empty"):
        _ = decode_results("{}").usr
    assert getattr(make_row(), "usr", 7) == 7
    with pytest.raises(AttributeError):
        del make_row().usr


def test_a_long_list_of_keys_is_cut() -> None:
    with pytest.raises(KeyError) as caught:
        decode_results(json.dumps({f"key_{number}" + "x" * 1000: number for number in range(1000)}))["other"]
    assert len(str(caught.value)) < 2_000
    assert "and 980 more" in str(caught.value)


def test_a_large_result_is_decoded_with_the_collector_paused_and_started_again() -> None:
    text = json.dumps([ROW] * 2_000)
    assert gc.isenabled()
    assert decode_results(text)[1999].amount == 2.5
    assert gc.isenabled()
    with pytest.raises(ValueError, match="Unterminated"):
        decode_results(text[:-5])
    assert gc.isenabled()
