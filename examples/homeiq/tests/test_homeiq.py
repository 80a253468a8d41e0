"""Habits that are in the records are found, those that are not are not, and automations hold to their schema."""

import sqlite3
from datetime import date, timedelta
from typing import Any

import pytest
import yaml

from examples.cached import made_once, open_read_only
from examples.homeiq.automation import Automations
from examples.homeiq.data import Data
from examples.homeiq.devices import Devices
from examples.homeiq.habits import DAY_NAMES, find_habits
from examples.homeiq.house import DEVICES, HABITS
from examples.homeiq.rows import EventRow
from examples.homeiq.seed import EVENTS, FILE, build
from examples.homeiq.writing import SERVICES, check
from examples.records import Records


@pytest.fixture(scope="module")
def records() -> Records:
    return Records(open_read_only(made_once(FILE, build)))


def test_there_is_a_year_of_events_of_sixty_devices(records: Records) -> None:
    sql = "SELECT count(*) AS events, count(DISTINCT entity_id) AS devices FROM events WHERE domain <> 'person'"

    assert records.one(dict[str, int], sql) == {"events": EVENTS, "devices": 60}
    assert len(DEVICES) == 60
    assert len(Data(records).get_devices()) == 63, "and a porch light and two people"


def test_somebody_comes_home_every_day(records: Records) -> None:
    sql = "SELECT state, count(*) AS times FROM events WHERE entity_id = 'person.anna' GROUP BY 1 ORDER BY 1"
    assert records.rows(dict[str, Any], sql) == [{"state": "home", "times": 365}, {"state": "not_home", "times": 365}]


def test_every_habit_of_the_house_is_found_and_nothing_else(records: Records) -> None:
    found = Automations(records).detect_patterns(days=365, min_support=0.75)

    def minutes(time: str) -> int:
        return int(time[:2]) * 60 + int(time[3:])

    wanted = sorted((habit.entity_id, habit.state, tuple(DAY_NAMES[day] for day in habit.days), habit.minute) for habit in HABITS)
    seen = sorted((each["entity_id"], each["state"], tuple(each["weekdays"]), minutes(each["time"])) for each in found)
    assert [each[:3] for each in seen] == [each[:3] for each in wanted]
    assert all(abs(one[3] - other[3]) <= 5 for one, other in zip(seen, wanted, strict=True))


def test_what_happens_at_another_time_each_day_is_no_habit() -> None:
    first = date(2026, 1, 1)
    events: list[EventRow] = [
        {"entity_id": "light.a", "state": "on", "at": f"{first + timedelta(days=n)}T{n * 7 % 24:02}:{n * 13 % 60:02}:00"}
        for n in range(90)
    ]

    assert find_habits(events, first, first + timedelta(days=90), 0.7) == []


@pytest.mark.parametrize(("domain", "state"), sorted(SERVICES))
def test_every_automation_that_is_written_is_valid(records: Records, domain: str, state: str) -> None:
    text = Automations(records).generate_automation(f"{domain}.x", state, "20:40", ["fri", "sat"])["yaml"]

    check(text)
    assert yaml.safe_load(text)["triggers"] == [{"trigger": "time", "at": "20:40:00"}]


@pytest.mark.parametrize(
    "broken", ["[]", "alias: x", "alias: x\ntriggers: []\nactions: []", ": :", "alias: x\ntriggers: [{trigger: time, at: 99}]"]
)
def test_what_is_no_automation_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="no automation"):
        check(broken)


def test_a_time_that_does_not_exist_is_refused(records: Records) -> None:
    with pytest.raises(Exception, match="no automation"):
        Automations(records).generate_automation("light.kitchen", "on", "25:00")


def test_sensors_cannot_be_controlled_and_lights_can(records: Records) -> None:
    devices = Devices(records)

    assert devices.get_device_capabilities("light.kitchen")["services"] == ["light.turn_off", "light.turn_on"]
    assert not devices.get_device_capabilities("sensor.temperature_office")["is_controllable"]


def test_the_records_cannot_be_changed(records: Records) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        records.connection.execute("DELETE FROM events")
