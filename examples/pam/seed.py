"""Twenty travellers and two and a half years of their lives, always the same. Names, addresses and cards are invented."""

import random
import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from examples.records import insert

TODAY = date(2026, 6, 30)
"""The day it is in these records, so that answers do not change with the calendar."""
USERS = 20
PARKS = 400

Rows = list[Mapping[str, Any]]

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()

STATES = {
    "AZ": (34.2, -111.6),
    "CA": (37.2, -119.3),
    "CO": (39.0, -105.5),
    "ID": (44.4, -114.6),
    "MT": (47.0, -109.6),
    "NM": (34.4, -106.1),
    "NV": (39.3, -116.6),
    "OR": (43.9, -120.6),
    "TX": (31.5, -99.3),
    "UT": (39.3, -111.7),
    "WA": (47.4, -120.5),
    "WY": (43.0, -107.6),
}
FIRST = "Ada Ben Carla Dev Elena Frank Grace Hugo Iris Jonas Kira Liam Mona Nils Opal Pablo Quinn Rosa Sven Tara".split()
LAST = "Adler Brandt Castillo Dhillon Engel Fischer Garcia Haas Ivanova Jensen Keller Lind Moreno Nolan Ortiz".split()
CATEGORIES = {"fuel": 92, "camping": 58, "food": 34, "repairs": 210, "fun": 45, "tolls": 12, "supplies": 28, "laundry": 9}
MERCHANTS = {
    "fuel": ["Pilot", "Loves", "Shell"],
    "camping": ["KOA", "State Park Office", "Good Sam"],
    "food": ["Safeway", "Diner 66", "Costco"],
    "repairs": ["Camping World", "Tire Barn"],
    "fun": ["Canyon Tours", "Hot Springs", "City Museum"],
    "tolls": ["Turnpike"],
    "supplies": ["Walmart", "Ace Hardware"],
    "laundry": ["Spin Cycle"],
}
FEATURES = "Pine Canyon River Mesa Juniper Lakeside Red Rock Eagle Cedar Sunset Granite Willow Coyote Meadow".split()
PLACES = "RV Resort,Campground,State Park,RV Park,Hideaway".split(",")


def build(connection: sqlite3.Connection) -> None:
    """Fill an empty database."""
    rng = random.Random(47)
    connection.executescript(SCHEMA)
    people = [_person(rng, number) for number in range(1, USERS + 1)]
    insert(connection, "users", people)
    insert(connection, "parks", [_park(rng, number) for number in range(1, PARKS + 1)])
    insert(connection, "stations", [_station(rng, number) for number in range(1, 151)])
    insert(connection, "reviews", [_review(rng, number) for number in range(1, 1_601)])
    _lives(connection, rng, people)
    connection.commit()


def _lives(connection: sqlite3.Connection, rng: random.Random, people: Rows) -> None:
    tables: dict[str, Rows] = {}
    for person in people:
        _travel(rng, person, tables)
        _spend(rng, person, tables)
        _drive(rng, person, tables)
        _plan_days(rng, person, tables)
    for table, rows in tables.items():
        insert(connection, table, rows)


def _person(rng: random.Random, number: int) -> Mapping[str, Any]:
    first, last = FIRST[number - 1], rng.choice(LAST)
    return {
        "id": number,
        "name": f"{first} {last}",
        "email": f"{first}.{last}@example.net".lower(),
        "phone": f"+1 415 555 {rng.randrange(10_000):04}",
        "card": _card(rng),
        "home_state": rng.choice(list(STATES)),
    }


def _card(rng: random.Random) -> str:
    """A number of a card that nobody has, with a right check digit, so that masking finds it."""
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    doubled = [digit * 2 - 9 * (digit > 4) if place % 2 == 0 else digit for place, digit in enumerate(digits)]
    return "".join(map(str, [*digits, -sum(doubled) % 10]))


def _near(rng: random.Random, state: str) -> dict[str, float]:
    lat, lon = STATES[state]
    return {"lat": round(lat + rng.uniform(-1.8, 1.8), 4), "lon": round(lon + rng.uniform(-2.2, 2.2), 4)}


def _park(rng: random.Random, number: int) -> Mapping[str, Any]:
    state = rng.choice(list(STATES))
    return {
        "id": number,
        "name": f"{rng.choice(FEATURES)} {rng.choice(FEATURES)} {rng.choice(PLACES)}",
        "state": state,
        **_near(rng, state),
        "rate": round(rng.uniform(18, 110), 2),
        "sites": rng.randrange(12, 220),
        "hookups": rng.choice(["none", "electric", "full"]),
        "pets": int(rng.random() < 0.7),
        "wifi": int(rng.random() < 0.6),
        "rating": round(rng.uniform(2.4, 5.0), 1),
    }


def _station(rng: random.Random, number: int) -> Mapping[str, Any]:
    state = rng.choice(list(STATES))
    diesel = rng.uniform(3.4, 5.3)
    return {
        "id": number,
        "name": f"{rng.choice(MERCHANTS['fuel'])} #{100 + number}",
        "state": state,
        **_near(rng, state),
        "diesel": round(diesel, 3),
        "regular": round(diesel - rng.uniform(0.2, 0.7), 3),
        "rv_lanes": int(rng.random() < 0.4),
    }


def _review(rng: random.Random, number: int) -> Mapping[str, Any]:
    words = rng.sample("quiet clean muddy friendly noisy shady level crowded scenic tight spotless dusty".split(), 4)
    return {
        "id": number,
        "park_id": rng.randrange(1, PARKS + 1),
        "user_id": rng.randrange(1, USERS + 1),
        "stars": rng.randrange(1, 6),
        "text": f"The sites are {words[0]} and {words[1]}, the staff {words[2]}, the road in {words[3]}.",
        "date": str(TODAY - timedelta(days=rng.randrange(900))),
    }


def _travel(rng: random.Random, person: Mapping[str, Any], tables: dict[str, Rows]) -> None:
    day = TODAY - timedelta(days=900 - rng.randrange(30))
    while day < TODAY + timedelta(days=120):
        trip = len(tables.setdefault("trips", [])) + 1
        nights = _stops(rng, person["id"], trip, day, tables)
        end = day + timedelta(days=nights)
        status = "done" if end < TODAY else "planned" if day > TODAY else "under way"
        name = f"{rng.choice(list(STATES))} {rng.choice('spring summer canyon desert coast family'.split())} loop"
        tables["trips"].append(
            {
                "id": trip,
                "user_id": person["id"],
                "name": name,
                "start_date": str(day),
                "end_date": str(end),
                "status": status,
                "budget": rng.randrange(8, 40) * 100.0,
            }
        )
        day = end + timedelta(days=rng.randrange(15, 75))


def _stops(rng: random.Random, user: int, trip: int, day: date, tables: dict[str, Rows]) -> int:
    total = 0
    stops = tables.setdefault("stops", [])
    for _ in range(rng.randrange(2, 8)):
        nights = rng.randrange(1, 5)
        stops.append(
            {
                "id": len(stops) + 1,
                "user_id": user,
                "trip_id": trip,
                "park_id": rng.randrange(1, PARKS + 1),
                "arrive": str(day + timedelta(days=total)),
                "nights": nights,
                "cost": round(nights * rng.uniform(18, 110), 2),
            }
        )
        total += nights
    return total


def _spend(rng: random.Random, person: Mapping[str, Any], tables: dict[str, Rows]) -> None:
    expenses, budgets = tables.setdefault("expenses", []), tables.setdefault("budgets", [])
    trips = [trip for trip in tables["trips"] if trip["user_id"] == person["id"]]
    for back in range(900, 0, -1):
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            day = str(TODAY - timedelta(days=back))
            on_trip = next((trip["id"] for trip in trips if trip["start_date"] <= day <= trip["end_date"]), None)
            category = rng.choice(list(CATEGORIES))
            row = {
                "id": len(expenses) + 1,
                "user_id": person["id"],
                "trip_id": on_trip,
                "date": day,
                "category": category,
                "amount": round(CATEGORIES[category] * rng.uniform(0.3, 1.9), 2),
                "merchant": rng.choice(MERCHANTS[category]),
                "card": person["card"],
                "note": f"receipt {rng.randrange(10**6):06} mailed to {person['email']}",
            }
            expenses.append(row)
            if rng.random() < 0.01:  # charged twice, as happens
                expenses.append({**row, "id": len(expenses) + 1})
    budgets += [
        {"user_id": person["id"], "category": category, "monthly": round(usual * 22 * rng.uniform(0.1, 0.3), 0)}
        for category, usual in CATEGORIES.items()
    ]


def _drive(rng: random.Random, person: Mapping[str, Any], tables: dict[str, Rows]) -> None:
    vehicles, fuel = tables.setdefault("vehicles", []), tables.setdefault("fuel", [])
    for kind in rng.sample(["class A", "class C", "camper van", "tow truck"], rng.randrange(1, 3)):
        vehicle = len(vehicles) + 1
        tank, odometer, mpg = rng.choice((25.0, 55.0, 80.0)), rng.randrange(5_000, 90_000), rng.uniform(7, 18)
        vehicles.append(
            {
                "id": vehicle,
                "user_id": person["id"],
                "name": f"{rng.choice(FEATURES)} {kind}",
                "kind": kind,
                "length_ft": rng.randrange(19, 42),
                "tank_gallons": tank,
            }
        )
        for back in range(890, 0, -rng.randrange(8, 16)):
            gallons = round(tank * rng.uniform(0.4, 0.95), 2)
            odometer += round(gallons * mpg * rng.uniform(0.9, 1.1))
            fuel.append(
                {
                    "id": len(fuel) + 1,
                    "user_id": person["id"],
                    "vehicle_id": vehicle,
                    "date": str(TODAY - timedelta(days=back)),
                    "station_id": rng.randrange(1, 151),
                    "gallons": gallons,
                    "price": round(rng.uniform(3.3, 5.4), 3),
                    "odometer": odometer,
                }
            )


def _plan_days(rng: random.Random, person: Mapping[str, Any], tables: dict[str, Rows]) -> None:
    events, bookings, user = tables.setdefault("events", []), tables.setdefault("bookings", []), person["id"]
    for _ in range(60):
        start = TODAY + timedelta(days=rng.randrange(-200, 90))
        friend = f"{rng.choice(FIRST)}.{rng.choice(LAST)}@example.org".lower()
        events.append(
            {
                "id": len(events) + 1,
                "user_id": user,
                "title": rng.choice("dentist,rally,family visit,service,birthday,call".split(",")),
                "start_date": str(start),
                "end_date": str(start + timedelta(days=rng.randrange(4))),
                "place": rng.choice(list(STATES)),
                "with_email": friend,
            }
        )
    arrive = str(TODAY + timedelta(days=rng.randrange(5, 40)))
    bookings.append(
        {
            "id": user,
            "user_id": user,
            "park_id": rng.randrange(1, PARKS + 1),
            "arrive": arrive,
            "nights": 3,
            "status": "pending",
            "polls": 0,
        }
    )
    favorites = tables.setdefault("favorites", [])
    favorites += [{"user_id": user, "park_id": park} for park in rng.sample(range(1, PARKS + 1), 6)]
