"""What somebody asks about a house. It is the morning of 2026-07-01."""

import sqlite3
from collections import Counter
from typing import Any

from examples.tasks.task import Ask, Task, rows

TODAY = "(Today is 2026-07-01.)"
ROOMS = "kitchen living_room bedroom bathroom office hallway garage garden kids_room laundry".split()


async def _kitchen(ask: Ask) -> None:
    (devices,) = await ask(("home_data.get_devices", {"area": "kitchen"}))
    await ask(*(("home_devices.get_device_capabilities", {"entity_id": each["entity_id"]}) for each in devices))


def _kitchen_truth(truth: sqlite3.Connection) -> Any:
    sql = "SELECT entity_id FROM devices WHERE area = 'kitchen' AND domain NOT IN ('sensor', 'binary_sensor') ORDER BY 1"
    return [entity for (entity,) in rows(truth, sql)]


async def _cold(ask: Ask) -> None:
    span = {"start": "2026-01-01", "end": "2026-02-01"}
    await ask(("home_data.query_device_history", {"entity_id": "sensor.temperature_garden", **span}))


def _cold_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT substr(at, 1, 10), round(avg(CAST(state AS REAL)), 1) FROM events WHERE entity_id = 'sensor.temperature_garden'
             AND at LIKE '2026-01-%' GROUP BY 1 ORDER BY avg(CAST(state AS REAL)) LIMIT 1"""
    return list(rows(truth, sql)[0])


async def _automate(ask: Ask) -> None:
    (patterns,) = await ask(("home_automation.detect_patterns", {"days": 365, "min_support": 0.75}))
    await ask(
        *(
            ("home_automation.generate_automation", {key: each[key] for key in ("entity_id", "state", "time", "weekdays")})
            for each in patterns
        )
    )


def _automate_truth(_truth: sqlite3.Connection) -> Any:
    from examples.homeiq.house import HABITS

    return sorted({f"{habit.entity_id} {habit.state}" for habit in HABITS})


async def _lights(ask: Ask) -> None:
    span = {"start": "2026-06-24", "end": "2026-07-01"}
    await ask(("home_data.search_events", {**span, "domain": "light", "state": "on"}))


def _lights_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT entity_id, count(*) FROM events WHERE domain = 'light' AND state = 'on' AND at BETWEEN '2026-06-24' AND '2026-07-01'
             AND substr(at, 12, 2) >= '22' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"""
    return [list(row) for row in rows(truth, sql)]


async def _busy(ask: Ask) -> None:
    span = {"start": "2026-06-24", "end": "2026-07-01"}
    await ask(("home_data.search_events", {**span, "domain": "binary_sensor", "state": "on"}))


def _busy_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT entity_id FROM events WHERE domain = 'binary_sensor' AND state = 'on' AND at BETWEEN '2026-06-24' AND '2026-07-01'"""
    counts = Counter(entity.removeprefix("binary_sensor.motion_") for (entity,) in rows(truth, sql))
    return list(max(counts.items(), key=lambda pair: (pair[1], pair[0])))


async def _washes(ask: Ask) -> None:
    span = {"start": "2026-06-01", "end": "2026-07-01"}
    await ask(("home_data.query_device_history", {"entity_id": "sensor.power_washing_machine", **span}))


def _washes_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT count(*), round(max(CAST(state AS REAL))) FROM events WHERE entity_id = 'sensor.power_washing_machine'
             AND at LIKE '2026-06-%' AND CAST(state AS REAL) > 800"""
    return list(rows(truth, sql)[0])


async def _door(ask: Ask) -> None:
    span = {"start": "2026-04-01", "end": "2026-07-01"}
    await ask(("home_data.query_device_history", {"entity_id": "lock.front_door", **span}))


def _door_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT CASE strftime('%w', at) WHEN '0' THEN 'Sun' WHEN '1' THEN 'Mon' WHEN '2' THEN 'Tue' WHEN '3' THEN 'Wed'
             WHEN '4' THEN 'Thu' WHEN '5' THEN 'Fri' ELSE 'Sat' END, count(*) FROM events
             WHERE entity_id = 'lock.front_door' AND state = 'unlocked' AND at BETWEEN '2026-04-01' AND '2026-07-01' GROUP BY 1"""
    return dict(rows(truth, sql))


async def _rooms(ask: Ask) -> None:
    span = {"start": "2026-06-30", "end": "2026-07-01"}
    await ask(*(("home_data.query_device_history", {"entity_id": f"sensor.temperature_{room}", **span}) for room in ROOMS))


def _rooms_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT substr(entity_id, 20), max(CAST(state AS REAL)) - min(CAST(state AS REAL)) FROM events
             WHERE entity_id LIKE 'sensor.temperature_%' AND at LIKE '2026-06-30%' GROUP BY 1 ORDER BY 2 DESC LIMIT 2"""
    return [[room, round(range_, 1)] for room, range_ in rows(truth, sql)]


async def _coffee(ask: Ask) -> None:
    await ask(("home_automation.detect_patterns", {"entity_id": "switch.coffee_machine", "days": 365}))


def _coffee_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT substr(at, 12, 5) FROM events WHERE entity_id = 'switch.coffee_machine' AND state = 'on'
             AND strftime('%w', at) IN ('1', '2', '3', '4', '5') AND substr(at, 12, 5) BETWEEN '06:15' AND '07:15' ORDER BY at"""
    times = sorted(time for (time,) in rows(truth, sql))
    return [["mon", "tue", "wed", "thu", "fri"], times[len(times) // 2][:4]]


TASKS = (
    Task(
        id="home-kitchen",
        app="homeiq",
        kind="chat",
        question="Which devices in the kitchen can be controlled at all?",
        searches=("devices of an area and what a device can do",),
        program="""\
from servers import home_data, home_devices
import asyncio
devices = home_data.get_devices(area="kitchen")
able = await asyncio.gather(*[home_devices.get_device_capabilities(d["entity_id"]) for d in devices])
[c["entity_id"] for c in able if c["is_controllable"]]
""",
        direct=_kitchen,
        expected=_kitchen_truth,
    ),
    Task(
        id="home-cold",
        app="homeiq",
        kind="report",
        question="Which day of January 2026 was the coldest in the garden, by its mean temperature?",
        searches=("history of a temperature sensor",),
        program="""\
from servers import home_data
from collections import defaultdict
from statistics import mean
days = defaultdict(list)
for e in home_data.query_device_history("sensor.temperature_garden", "2026-01-01", "2026-02-01"):
    days[e["at"][:10]].append(float(e["state"]))
day = min(days, key=lambda d: mean(days[d]))
[day, round(mean(days[day]), 1)]
""",
        direct=_cold,
        expected=_cold_truth,
    ),
    Task(
        id="home-automate",
        app="homeiq",
        kind="report",
        question="Find the habits of the last year that we keep three times out of four and write an automation for each into a file. Which are they?",
        searches=("find habits and write automations",),
        program="""\
from servers import home_automation
import asyncio, pathlib
habits = home_automation.detect_patterns(days=365, min_support=0.75)
written = await asyncio.gather(*[
    home_automation.generate_automation(h["entity_id"], h["state"], h["time"], h["weekdays"]) for h in habits
])
pathlib.Path("automations.yaml").write_text("---\\n".join(w["yaml"] for w in written))
sorted({h["entity_id"] + " " + h["state"] for h in habits})
""",
        direct=_automate,
        expected=_automate_truth,
    ),
    Task(
        id="home-lights",
        app="homeiq",
        kind="chat",
        question=f"Which three lights were switched on most often after 22:00 in the last seven days? {TODAY}",
        searches=("search events of lights between two moments",),
        program="""\
from servers import home_data
from collections import Counter
events = home_data.search_events("2026-06-24", "2026-07-01", domain="light", state="on")
late = Counter(e["entity_id"] for e in events if e["at"][11:13] >= "22")
[list(p) for p in sorted(late.items(), key=lambda p: (-p[1], p[0]))[:3]]
""",
        direct=_lights,
        expected=_lights_truth,
    ),
    Task(
        id="home-busy",
        app="homeiq",
        kind="report",
        question=f"In which room did the motion sensor go on most often in the last seven days, and how often? {TODAY}",
        searches=("search events of motion sensors between two moments",),
        program="""\
from servers import home_data
from collections import Counter
events = home_data.search_events("2026-06-24", "2026-07-01", domain="binary_sensor", state="on")
rooms = Counter(e["entity_id"].removeprefix("binary_sensor.motion_") for e in events)
list(max(rooms.items(), key=lambda p: (p[1], p[0])))
""",
        direct=_busy,
        expected=_busy_truth,
    ),
    Task(
        id="home-washes",
        app="homeiq",
        kind="report",
        question="How many readings of the washing machine's power were above 800 W in June 2026, and what was the highest?",
        searches=("history of a power sensor",),
        program="""\
from servers import home_data
events = home_data.query_device_history("sensor.power_washing_machine", "2026-06-01", "2026-07-01")
high = [float(e["state"]) for e in events if float(e["state"]) > 800]
[len(high), max(high)]
""",
        direct=_washes,
        expected=_washes_truth,
    ),
    Task(
        id="home-door",
        app="homeiq",
        kind="report",
        question="How often was the front door unlocked on each day of the week, from April to June 2026?",
        searches=("history of a door lock",),
        program="""\
from servers import home_data
from collections import Counter
from datetime import datetime
events = home_data.query_device_history("lock.front_door", "2026-04-01", "2026-07-01")
dict(Counter(datetime.fromisoformat(e["at"]).strftime("%a") for e in events if e["state"] == "unlocked"))
""",
        direct=_door,
        expected=_door_truth,
    ),
    Task(
        id="home-rooms",
        app="homeiq",
        kind="report",
        question="In which two rooms did the temperature vary most on 2026-06-30, and by how much?",
        searches=("history of a temperature sensor", "devices of the house"),
        program="""\
from servers import home_data
import asyncio
sensors = [d["entity_id"] for d in home_data.get_devices(domain="sensor") if "temperature" in d["entity_id"]]
days = await asyncio.gather(*[home_data.query_device_history(s, "2026-06-30", "2026-07-01") for s in sensors])
found = []
for sensor, events in zip(sensors, days):
    values = [float(e["state"]) for e in events]
    found.append([sensor.removeprefix("sensor.temperature_"), round(max(values) - min(values), 1)])
sorted(found, key=lambda f: -f[1])[:2]
""",
        direct=_rooms,
        expected=_rooms_truth,
    ),
    Task(
        id="home-coffee",
        app="homeiq",
        kind="chat",
        question="On which days does the coffee machine go on before eight, and at about what time (to ten minutes)?",
        searches=("find habits of a device",),
        program="""\
from servers import home_automation
habits = home_automation.detect_patterns("switch.coffee_machine", days=365)
habit = next(h for h in habits if h["time"] < "08:00")
[habit["weekdays"], habit["time"][:4]]
""",
        direct=_coffee,
        expected=_coffee_truth,
    ),
)
