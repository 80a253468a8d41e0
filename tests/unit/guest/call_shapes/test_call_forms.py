"""Calls by name are read in every form that models write, and typed functions pass other spellings on."""

from typing import Any

import pytest

from gristmill.guest.call_shapes import call_forms

ASKED = {"a": 1}
FORMS: Any = call_forms  # it is not typed: it runs inside the jail


@pytest.mark.parametrize(
    ("given", "named", "tool", "arguments"),
    [
        (("crm.find", ASKED), {}, "crm.find", ASKED),
        (("crm.find", ASKED, dict), {}, "crm.find", ASKED),
        (("crm.find", ASKED, dict[str, int]), {}, "crm.find", ASKED),
        (("crm.find", dict), {}, "crm.find", {}),
        (("crm.find", None, None), ASKED, "crm.find", ASKED),
        (("crm", "find", ASKED), {}, "crm.find", ASKED),
        (("crm", "find"), ASKED, "crm.find", ASKED),
        (("crm.find", '{"a": 1}'), {}, "crm.find", ASKED),
        ((), {"name": "crm.find", "arguments": ASKED}, "crm.find", {"arguments": ASKED}),
        ((), {"server": "crm", "tool": "find", "a": 1}, "crm.find", ASKED),
        (({"name": "crm.find", "arguments": ASKED},), {}, "crm.find", {"arguments": ASKED}),
        (("crm.find",), {"name": "ann"}, "crm.find", {"name": "ann"}),
    ],
)
def test_forms(given: tuple[Any, ...], named: dict[str, Any], tool: str, arguments: dict[str, Any]) -> None:
    assert FORMS.read_call(given, dict(named)) == (tool, arguments)


@pytest.mark.parametrize(
    "given", [(), (1,), ("crm.find", 5), ("crm.find", "{nonsense"), ("crm.find", ["a"]), ("crm.find", {}, 5)]
)
def test_what_is_no_call_says_how_to_write_one(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="write call_tool"):
        FORMS.read_call(given, {})


def _return_call(*call: Any) -> Any:
    return call


def find(user_id: int, limit: int = 10) -> Any:
    """Finds."""
    return "typed", user_id, limit


def test_a_typed_function_gets_the_calls_that_it_understands() -> None:
    wrapped = FORMS.accept_other_spellings(find, "crm.find", _return_call)
    assert (wrapped(7), wrapped(user_id=7, limit=1), wrapped.__name__, wrapped.__doc__) == (
        ("typed", 7, 10), ("typed", 7, 1), "find", "Finds.",
    )  # fmt: skip
    with pytest.raises(TypeError, match="unexpected keyword argument 'usr'"):
        wrapped(usr=7)
    with pytest.raises(TypeError, match="missing 1 required"):
        wrapped()


def test_the_host_gets_the_others() -> None:
    wrapped = FORMS.accept_other_spellings(find, "crm.find", _return_call)
    assert wrapped(userId=7) == ("crm.find", {"userId": 7}, ())
    assert wrapped({"user_id": 7}) == ("crm.find", {}, ({"user_id": 7},))
    assert wrapped(arguments={"user_id": 7}) == ("crm.find", {"arguments": {"user_id": 7}}, ())
