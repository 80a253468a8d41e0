"""Arguments that JSON has no form for are sent in the one form that they can have; others stay errors."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import itertools
import json
import pathlib
import uuid
from typing import Any

import pytest
from pydantic import BaseModel

from gristmill.guest.calls.planned_result import PlannedResult
from gristmill.guest.values import argument_values
from gristmill.guest.values.argument_values import convert_argument
from gristmill.guest.values.lenient_json import load_json
from gristmill.guest.values.run_notes import take_notes


class Color(enum.Enum):
    RED = "red"


class Loud(str, enum.Enum):  # noqa: UP042 - as programs write it
    YES = "yes"


@dataclasses.dataclass
class Trip:
    day: datetime.date
    color: Color


class Park(BaseModel):
    name: str
    opened: datetime.date


DAY = datetime.date(2026, 1, 2)
CONVERTED = [
    (DAY, "2026-01-02", "sent:date"),
    (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), "2026-01-02T03:00:00+00:00", "sent:date"),
    (datetime.time(3, 4), "03:04:00", "sent:date"),
    (decimal.Decimal("1.50"), "1.50", "sent:decimal"),
    (decimal.Decimal("1E+3"), "1000", "sent:decimal"),
    (fractions.Fraction(1, 2), 0.5, "sent:decimal"),
    (Color.RED, "red", "sent:enum"),
    (Trip(DAY, Color.RED), {"day": "2026-01-02", "color": "red"}, "sent:dataclass"),
    (Park(name="Zion", opened=DAY), {"name": "Zion", "opened": "2026-01-02"}, "sent:pydantic"),
    (pathlib.PurePosixPath("/a/b"), "/a/b", "sent:path"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005", "sent:uuid"),
    ({"b", "a"}, ["a", "b"], "sent:set"),
    (frozenset((3, 1)), [1, 3], "sent:set"),
    ({"k": 1}.keys(), ["k"], "sent:sequence"),
    (range(3), [0, 1, 2], "sent:sequence"),
    (collections.deque([1]), [1], "sent:sequence"),
    ((number * 2 for number in range(3)), [0, 2, 4], "sent:sequence"),
]


@pytest.mark.parametrize(("value", "sent", "note"), CONVERTED)
def test_a_value_with_one_form_is_sent_in_it_and_the_caller_is_told(value: Any, sent: Any, note: str) -> None:
    take_notes()
    assert json.loads(json.dumps({"argument": [value]}, default=convert_argument)) == {"argument": [sent]}
    assert note in take_notes()


def test_what_json_can_carry_is_not_converted() -> None:
    take_notes()
    assert json.dumps([1, (2, 3), Loud.YES], default=convert_argument) == '[1, [2, 3], "yes"]'
    assert take_notes() == []


@pytest.mark.parametrize("value", [b"x", object(), print, Trip, decimal.Decimal("NaN"), datetime.timedelta(1), 1j])
def test_a_value_with_no_form_or_several_stays_an_error(value: Any) -> None:
    with pytest.raises(TypeError, match="arguments are JSON values"):
        json.dumps(value, default=convert_argument)


def test_an_endless_iterator_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argument_values, "MOST_ITEMS", 10)
    assert len(json.loads(json.dumps(itertools.count(), default=convert_argument))) == 10


def test_a_planned_result_is_sent_as_its_reference() -> None:
    planned: Any = PlannedResult(3, "wiki.create")
    assert json.loads(json.dumps(planned.page["id"], default=convert_argument)) == {"$planned": [3, "page", "id"]}


def test_json_that_is_parsed_already_is_given_back_and_the_caller_is_told() -> None:
    take_notes()
    for value in ({"a": 1}, [1], 5, 2.5, True):
        assert load_json(value) is value
    assert take_notes() == ["parsed_twice"]
    assert load_json('{"a": 1.5}', parse_float=str) == {"a": "1.5"}
    assert take_notes() == []
    with pytest.raises(TypeError, match="must be str"):
        load_json(None)
