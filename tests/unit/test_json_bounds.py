"""Bounds of foreign JSON: found in the bytes and in values, whatever stands in the strings."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import json_bounds
from gristmill.json_bounds import JsonOutOfBounds, check_json_depth, check_json_text, check_json_values


def nested(levels: int, inner: Any = 1) -> Any:
    value = inner
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.requirement("T79")
def test_a_hundred_levels_pass_and_one_more_does_not() -> None:
    check_json_depth([nested(100)])
    check_json_values([nested(100)])
    for check in (check_json_depth, check_json_values):
        with pytest.raises(JsonOutOfBounds, match="nested deeper than 100"):
            check([1, nested(101)])


@pytest.mark.requirement("T79")
def test_only_text_with_many_brackets_has_to_be_measured() -> None:
    assert not check_json_text(encode(nested(99)))
    assert check_json_text(encode(nested(101)))


@pytest.mark.requirement("T79")
@pytest.mark.parametrize("number", [0, -1, 2**53, 2**63, 2**64 - 1, -(2**63)])
def test_integers_of_64_bits_pass(number: int) -> None:
    check_json_text(encode({"a": [number]}))
    check_json_values([{"a": [number]}])


@pytest.mark.requirement("T79")
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**20, -(10**4_000)])
def test_larger_integers_do_not(number: int) -> None:
    for text in (f'{{"a":{number}}}', f'[1, {number} ,"x"]', f"{number}", f'{{"s":"\\\\\\"","a":[{number}]}}'):
        with pytest.raises(JsonOutOfBounds, match="64 bits"):
            check_json_text(text.encode())
    with pytest.raises(JsonOutOfBounds, match="64 bits"):
        check_json_values([{"a": [number]}])


@pytest.mark.requirement("T79")
@pytest.mark.parametrize(
    "text", ['"' + "9" * 50 + '"', "1e300", "0." + "1" * 40, '"\\"' + "9" * 50 + '"', '{"' + "8" * 40 + '":1}']
)
def test_digits_in_text_and_fractions_are_no_integers(text: str) -> None:
    check_json_text(text.encode())


@pytest.mark.requirement("T79")
def test_a_million_values_pass_and_more_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bounds, "MOST_VALUES", 1_000)
    check_json_text(encode([0] * 999))
    check_json_text(encode(["a, b, [c], {d}" * 1_000]))
    check_json_values([[0] * 900])
    excesses: list[Any] = [[0] * 2_000, [[]] * 1_100, [{"a": "b"}] * 1_100]
    for value in excesses:
        with pytest.raises(JsonOutOfBounds, match="values"):
            check_json_text(encode(value))
        with pytest.raises(JsonOutOfBounds, match="values"):
            check_json_values([value])


_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**22), 10**22)
    | st.text(max_size=30)
    | st.text('\\"[]{},:0123456789', max_size=60)
)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def _find_integers(value: Any) -> list[int]:
    found: list[int] = []
    json.loads(json.dumps(value), parse_int=lambda digits: found.append(int(digits)))
    return found


@pytest.mark.requirement("T79")
@given(_values)
def test_text_and_value_are_judged_alike(value: Any) -> None:
    fits = all(-(2**63) <= number < 2**64 for number in _find_integers(value))
    for ensure_ascii in (True, False):
        text = json.dumps(value, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
        assert _passes(lambda text=text: check_json_text(text)) == fits
    assert _passes(lambda: check_json_values([value])) == fits


def _passes(check: Any) -> bool:
    try:
        check()
    except JsonOutOfBounds:
        return False
    return True
