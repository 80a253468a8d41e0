"""JSON is counted before it is parsed, and strings do not count."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.upstream.json_limits import JsonLimits, JsonRefused, JsonScan, JsonSize, check_json

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}",\\\\aé', max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{",\\\\', max_size=3), inner, max_size=4),
    max_leaves=30,
)


def _measure(value: Any) -> JsonSize:
    """The same by walking over the values: brackets, and commas between items."""
    if not isinstance(value, dict | list):
        return JsonSize(values=0, levels=0)
    items = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    inner = [_measure(item) for item in items]
    values = 1 + max(0, len(items) - 1) + sum(size.values for size in inner)
    return JsonSize(values=values, levels=1 + max((size.levels for size in inner), default=0))


@given(value=VALUES, cut=st.integers(1, 9), is_ascii=st.booleans())
def test_the_scan_counts_what_is_there_however_it_arrives(value: Any, cut: int, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    scan = JsonScan(JsonLimits())
    for start in range(0, len(text), cut):
        scan.feed(text[start : start + cut])
    assert JsonSize(values=scan.values, levels=scan.most_levels) == _measure(value)


@given(value=VALUES)
def test_a_check_never_counts_too_little(value: Any) -> None:
    found, real = check_json(json.dumps(value).encode(), JsonLimits()), _measure(value)
    assert found.values >= real.values
    assert found.levels >= real.levels


def test_brackets_and_commas_in_strings_are_not_refused() -> None:
    text = json.dumps({"text": "[{,\\" * 100_000}).encode()
    assert check_json(text, JsonLimits(values=1_000)) == JsonSize(values=1, levels=1)


@pytest.mark.requirement("T150")
@pytest.mark.parametrize(
    ("text", "reason", "setting"),
    [
        (b"[" * 129, "deeper than 128 levels", None),
        (b'{"a":' * 100_000, "deeper than 128 levels", None),
        (b"[" + b"{}," * 600 + b"1]", "more than 1,000 values", "message_values"),
        (b"1," * 1_001, "more than 1,000 values", "message_values"),
    ],
)
def test_what_exceeds_the_limits_is_refused(text: bytes, reason: str, setting: str | None) -> None:
    with pytest.raises(JsonRefused, match=reason) as refused:
        check_json(text, JsonLimits(values=1_000))
    assert refused.value.setting == setting
