"""A year of the house: habits, whims and sensors, 500,000 events, and who was at home; always the same."""

import math
import random
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from operator import itemgetter

from examples.homeiq.house import DEVICES, HABITS, NEW, PEOPLE, Device

FIRST, DAYS = date(2025, 7, 1), 365
TODAY = FIRST + timedelta(days=DAYS)
EVENTS = 500_000
FILE = "homeiq-2.sqlite"
"""The number changes with whatever is generated, so that nobody keeps an old one."""

SCHEMA = """
CREATE TABLE devices (entity_id TEXT PRIMARY KEY, name TEXT, domain TEXT, area TEXT, unit TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, entity_id TEXT, at TEXT, state TEXT, domain TEXT, area TEXT);
"""
INDEXES = "CREATE INDEX events_of ON events (entity_id, at); CREATE INDEX events_in ON events (area, at);"

STATES = {
    "light": ("on", "off"), "switch": ("on", "off"), "lock": ("unlocked", "locked"), "cover": ("open", "closed"),
    "climate": ("heat", "off"), "media_player": ("playing", "paused"), "binary_sensor": ("on", "off"),
    "person": ("home", "not_home"),
}  # fmt: skip
WHIMS = {"light": 4, "switch": 1, "lock": 3, "cover": 1, "climate": 1, "media_player": 2, "binary_sensor": 22}
"""How often a day something happens for no reason that anybody could find."""

DATES = [str(FIRST + timedelta(days=day)) for day in range(DAYS + 1)]

Event = tuple[str, str, str, str, str]


def build(connection: sqlite3.Connection) -> None:
    """Fill an empty database."""
    rng = random.Random(8006)
    connection.executescript(SCHEMA)
    rows = [(each.entity_id, each.name, each.domain, each.area, each.unit) for each in (*DEVICES, *NEW, *PEOPLE)]
    connection.executemany("INSERT INTO devices VALUES (?, ?, ?, ?, ?)", rows)
    acts = [*_habits(rng), *_whims(rng)]
    events = [*acts, *_readings(rng, EVENTS - len(acts)), *_comings(random.Random(8024))]
    events.sort(key=itemgetter(1, 0))
    connection.executemany("INSERT INTO events (entity_id, at, state, domain, area) VALUES (?, ?, ?, ?, ?)", events)
    connection.executescript(INDEXES)
    connection.commit()


def _moment(day: int, second: float) -> str:
    days, rest = divmod(int(second), 86_400)
    return f"{DATES[day + days]}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _event(device: Device, at: str, state: str) -> Event:
    return (device.entity_id, at, state, device.domain, device.area)


def _habits(rng: random.Random) -> Iterator[Event]:
    devices = {device.entity_id: device for device in DEVICES}
    for habit in HABITS:
        for day in range(DAYS):
            if (FIRST + timedelta(days=day)).weekday() in habit.days and rng.random() < habit.kept:
                second = max(0.0, (habit.minute + rng.gauss(0, habit.spread)) * 60)
                yield _event(devices[habit.entity_id], _moment(day, second), habit.state)


def _whims(rng: random.Random) -> Iterator[Event]:
    for device in DEVICES:
        often = WHIMS.get(device.domain, 0)
        for day in range(DAYS):
            for _ in range(rng.randrange(often * 2 + 1)):
                yield _event(device, _moment(day, rng.uniform(6, 24) * 3_600), rng.choice(STATES[device.domain]))


def _comings(rng: random.Random) -> Iterator[Event]:
    """Who leaves the house and comes home, at hours too different to be a habit. Its own numbers leave the others as they are."""
    for person in PEOPLE:
        for day in range(DAYS):
            hours = (7.5, 17.0) if (FIRST + timedelta(days=day)).weekday() < 5 else (10.0, 14.0)
            leaves = hours[0] + rng.uniform(0, 3)
            yield _event(person, _moment(day, leaves * 3_600), "not_home")
            yield _event(person, _moment(day, (hours[1] + rng.uniform(0, 5)) * 3_600), "home")


def _readings(rng: random.Random, count: int) -> Iterator[Event]:
    sensors = [device for device in DEVICES if device.domain == "sensor"]
    step = DAYS * 86_400 * len(sensors) / count
    for number in range(0, count, len(sensors)):  # what all sensors have in common at a moment is computed once
        second = number // len(sensors) * step
        at = _moment(0, second)
        daily, yearly = math.sin(second / 86_400 * math.tau - 2), math.cos(second / 31_536_000 * math.tau)
        for device in sensors[: count - number]:
            yield (device.entity_id, at, _reading(rng, device, daily, yearly), "sensor", device.area)


def _reading(rng: random.Random, device: Device, daily: float, yearly: float) -> str:
    if device.unit == "°C":
        outside = device.area in ("garden", "garage")
        return f"{(13 + 9 * yearly + 5 * daily if outside else 20.5 + 1.5 * yearly + daily) + rng.gauss(0, 0.3):.1f}"
    if device.unit == "%":
        return f"{48 + 6 * daily + rng.gauss(0, 2):.0f}"
    return f"{rng.uniform(900, 1900):.0f}" if rng.random() < 0.08 else f"{rng.uniform(0.5, 3):.1f}"
