"""The text of an API document becomes values only within limits."""

import pytest

from gristmill.errors import ConfigError
from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.openapi.document_text import parse_document_text

LIMITS = JsonLimits(values=1_000, levels=20)


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, "x"], "b": [1, "x"]}', "a: &x [1, x]\nb: *x\n", "{a: [1, x], b: [1, x]}", "a:\n- 1\n- x\nb: [1, x]\n"],
)
def test_json_and_yaml_are_read(text: str) -> None:
    assert parse_document_text(text, "here", LIMITS) == {"a": [1, "x"], "b": [1, "x"]}


@pytest.mark.requirement("T150")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": [' + "1," * 1_001 + "1]}", "more than 1,000 values"),
        ("a:\n" + "- 1\n" * 1_001, "more than 1,000 values"),
        ("a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b]", "1,000 v"),
        (f"a: &a {'x' * 6_400}\nb: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]", "more than 1,000 values"),
        ("a: &a [*a]", "alias 'a' repeats something that is not complete"),
        ('{"a":' * 21, "deeper than 20 levels"),
        ("- " * 21 + "1", "deeper than 20 levels"),
        ("[" * 100_000, "deeper than 20 levels"),
        ("{not: [json", "neither JSON nor YAML"),
        ("!!python/object/apply:os.system [id]", "neither JSON nor YAML"),
    ],
)  # fmt: skip
def test_what_exceeds_the_limits_or_is_neither_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_document_text(text, "here", LIMITS)
