"""What a traveller asks. Her user id is 7: her application puts it into the context of what it executes."""

import sqlite3
from typing import Any

from examples.tasks.task import Ask, Task, rows

ME = {"user_id": 7}
TODAY = "(I am user 7, in code context.user_id. Today is 2026-06-30.)"


async def _spent(ask: Ask) -> None:
    await ask(("pam.sum_expenses_by_category", {"user_id": 7, "start_date": "2026-05-01", "end_date": "2026-05-31"}))


def _spent_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT category, round(sum(amount), 2) FROM expenses WHERE user_id = 7 AND date LIKE '2026-05-%'
             AND category IN ('fuel', 'camping') GROUP BY category"""
    return dict(rows(truth, sql))


async def _months(ask: Ask) -> None:
    months = [f"2025-{month:02}" for month in range(1, 13)]
    await ask(*(("pam.sum_expenses_by_category", {"user_id": 7, "start_date": f"{m}-01", "end_date": f"{m}-31"}) for m in months))


def _months_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT month, category FROM (SELECT substr(date, 1, 7) AS month, category,
             row_number() OVER (PARTITION BY substr(date, 1, 7) ORDER BY sum(amount) DESC) AS place
             FROM expenses WHERE user_id = 7 AND date LIKE '2025-%' GROUP BY 1, 2) WHERE place = 1"""
    return dict(rows(truth, sql))


async def _over(ask: Ask) -> None:
    (trips,) = await ask(("pam.list_trips", {"user_id": 7, "status": "done"}))
    await ask(*(("pam.get_trip_cost", {"user_id": 7, "trip_id": trip["id"]}) for trip in trips))


def _over_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT t.id, (SELECT coalesce(sum(cost), 0) FROM stops s WHERE s.trip_id = t.id)
             + (SELECT coalesce(sum(amount), 0) FROM expenses e WHERE e.trip_id = t.id AND e.user_id = 7) - t.budget
             FROM trips t WHERE t.user_id = 7 AND t.status = 'done'"""
    return {str(trip): round(over, 2) for trip, over in rows(truth, sql) if over > 0}


async def _room(ask: Ask) -> None:
    (parks,) = await ask(("pam.find_parks", {"state": "UT", "hookups": "full", "pets": True}))
    await ask(*(("pam.check_availability", {"park_id": park["id"], "arrive": "2026-07-10", "nights": 3}) for park in parks))


def _room_truth(truth: sqlite3.Connection) -> Any:
    sql = "SELECT id, name, rate, sites FROM parks WHERE state = 'UT' AND hookups = 'full' AND pets = 1 ORDER BY rate"
    load = sum(map(ord, "2026-07-10")) * 11 + 3
    return next([name, rate] for park, name, rate, sites in rows(truth, sql) if (park * 37 + load) % (sites + 10) < sites)


async def _wait(ask: Ask) -> None:
    status = "pending"
    while status == "pending":
        (booking,) = await ask(("pam.get_booking", {"user_id": 7, "booking_id": 7}))
        status = booking["status"]


def _wait_truth(truth: sqlite3.Connection) -> Any:
    return ["confirmed", rows(truth, "SELECT arrive FROM bookings WHERE id = 7")[0][0]]


async def _mileage(ask: Ask) -> None:
    (vehicles,) = await ask(("pam.list_vehicles", {"user_id": 7}))
    await ask(*(("pam.get_fuel_log", {"user_id": 7, "vehicle_id": each["id"], "start_date": "2025-07-01"}) for each in vehicles))


def _mileage_truth(truth: sqlite3.Connection) -> Any:
    found: dict[str, float] = {}
    for vehicle, name in rows(truth, "SELECT id, name FROM vehicles WHERE user_id = 7"):
        log = rows(
            truth, "SELECT odometer, gallons FROM fuel WHERE vehicle_id = ? AND date >= '2025-07-01' ORDER BY date", vehicle
        )
        found[name] = round((log[-1][0] - log[0][0]) / sum(gallons for _, gallons in log[1:]), 1)
    return found


async def _budget(ask: Ask) -> None:
    await ask(
        ("pam.get_budgets", {"user_id": 7}),
        ("pam.sum_expenses_by_category", {"user_id": 7, "start_date": "2026-06-01", "end_date": "2026-06-30"}),
    )


def _budget_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT b.category, sum(e.amount) - b.monthly FROM budgets b JOIN expenses e USING (user_id, category)
             WHERE user_id = 7 AND e.date LIKE '2026-06-%' GROUP BY b.category"""
    return {category: round(over, 2) for category, over in sorted(rows(truth, sql)) if over > 0}


async def _twice(ask: Ask) -> None:
    await ask(("pam.find_duplicate_expenses", {"user_id": 7}))


def _twice_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT count(*) - 1, amount FROM expenses WHERE user_id = 7 GROUP BY date, merchant, amount, note HAVING count(*) > 1"""
    found = rows(truth, sql)
    return [sum(count for count, _ in found), round(sum(count * amount for count, amount in found), 2)]


async def _merchants(ask: Ask) -> None:
    await ask(("pam.get_expenses", {"user_id": 7, "start_date": "2025-01-01", "end_date": "2025-12-31"}))


def _merchants_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT merchant, round(sum(amount), 2) FROM expenses WHERE user_id = 7 AND date LIKE '2025-%'
             GROUP BY merchant ORDER BY sum(amount) DESC LIMIT 3"""
    return [list(row) for row in rows(truth, sql)]


ROUTES = (("UT", "CO", "WY"), ("AZ", "NM", "TX"), ("OR", "WA", "ID"))


async def _plan(ask: Ask) -> None:
    await ask(
        ("pam.find_free_days", {"user_id": 7, "start_date": "2026-07-01", "end_date": "2026-09-30", "at_least": 6}),
        *(("pam.plan_trip", {"states": list(route), "nights_per_stop": 2, "max_rate": 60}) for route in ROUTES),
    )


def _plan_truth(truth: sqlite3.Connection) -> Any:
    days = {f"2026-{month:02}-{day:02}" for month, last in ((7, 31), (8, 31), (9, 30)) for day in range(1, last + 1)}
    for start, end in rows(truth, "SELECT start_date, end_date FROM events WHERE user_id = 7"):
        days -= {day for day in days if start <= day <= end}
    free = sorted(days)
    first = next(day for place, day in enumerate(free) if place + 5 < len(free) and _days_between(day, free[place + 5]) == 5)
    return [first, list(min(ROUTES, key=lambda route: _route_cost(truth, route)))]


def _days_between(first: str, last: str) -> int:
    from datetime import date

    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def _route_cost(truth: sqlite3.Connection, route: tuple[str, ...]) -> float:
    from itertools import pairwise

    from examples.pam.ways import miles

    sql = "SELECT lat, lon, rate FROM parks WHERE state = ? AND rate <= 60 ORDER BY rating DESC, rate, id LIMIT 1"
    parks = [rows(truth, sql, state)[0] for state in route]
    return sum(rate for *_, rate in parks) * 2 + 0.42 * sum(miles(*one[:2], *other[:2]) for one, other in pairwise(parks))


async def _favorite(ask: Ask) -> None:
    (parks,) = await ask(("pam.list_favorite_parks", {"user_id": 7}))
    await ask(*(("pam.list_park_reviews", {"park_id": park["id"]}) for park in parks))


def _favorite_truth(truth: sqlite3.Connection) -> Any:
    sql = """SELECT p.name, round(avg(r.stars), 2) FROM favorites f JOIN parks p ON p.id = f.park_id JOIN reviews r ON r.park_id = p.id
             WHERE f.user_id = 7 GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 1"""
    return list(rows(truth, sql)[0])


async def _people(ask: Ask) -> None:
    await ask(("pam.get_calendar", {"user_id": 7, "start_date": "2026-01-01", "end_date": "2026-06-30"}))


def _people_truth(truth: sqlite3.Connection) -> Any:
    sql = "SELECT count(DISTINCT with_email), count(*) FROM events WHERE user_id = 7 AND start_date <= '2026-06-30' AND end_date >= '2026-01-01'"
    return list(rows(truth, sql)[0])


TASKS = (
    Task(
        id="pam-spent",
        app="pam",
        kind="chat",
        question=f"How much did I spend on fuel and on camping in May 2026? {TODAY}",
        searches=("total expenses per category between two dates",),
        program="""\
from servers import pam
totals = pam.sum_expenses_by_category(user_id=context.user_id, start_date="2026-05-01", end_date="2026-05-31")
{t["category"]: t["total"] for t in totals if t["category"] in ("fuel", "camping")}
""",
        context=ME,
        direct=_spent,
        expected=_spent_truth,
    ),
    Task(
        id="pam-months",
        app="pam",
        kind="report",
        question=f"For every month of 2025, in which category did I spend most? {TODAY}",
        searches=("total expenses per category between two dates",),
        program="""\
from servers import pam
import asyncio
months = [f"2025-{m:02}" for m in range(1, 13)]
found = await asyncio.gather(*[pam.sum_expenses_by_category(user_id=context.user_id, start_date=m + "-01", end_date=m + "-31") for m in months])
{m: max(totals, key=lambda t: t["total"])["category"] for m, totals in zip(months, found)}
""",
        context=ME,
        direct=_months,
        expected=_months_truth,
    ),
    Task(
        id="pam-over-budget",
        app="pam",
        kind="report",
        question=f"Which of my finished trips went over budget, and by how much? {TODAY}",
        searches=("list my trips and what each trip cost against its budget",),
        program="""\
from servers import pam
import asyncio
trips = pam.list_trips(user_id=context.user_id, status="done")
costs = await asyncio.gather(*[pam.get_trip_cost(user_id=context.user_id, trip_id=t["id"]) for t in trips])
{c["trip_id"]: round(c["total"] - c["budget"], 2) for c in costs if c["total"] > c["budget"]}
""",
        context=ME,
        direct=_over,
        expected=_over_truth,
    ),
    Task(
        id="pam-room",
        app="pam",
        kind="chat",
        question="Which is the cheapest park in Utah with full hookups that takes pets and has a free site from 2026-07-10 for 3 nights?",
        searches=("find parks by state, hookups and pets, and check free sites",),
        program="""\
from servers import pam
import asyncio
parks = pam.find_parks(state="UT", hookups="full", pets=True)
free = await asyncio.gather(*[pam.check_availability(park_id=p["id"], arrive="2026-07-10", nights=3) for p in parks])
best = min((p for p, f in zip(parks, free) if f["free_sites"] > 0), key=lambda p: p["rate"])
[best["name"], best["rate"]]
""",
        direct=_room,
        expected=_room_truth,
    ),
    Task(
        id="pam-wait",
        app="pam",
        kind="chat",
        question=f"Wait until my booking number 7 is no longer pending; what became of it, and when do I arrive? {TODAY}",
        searches=("status of a booking",),
        program="""\
from servers import pam
import time
booking = pam.get_booking(user_id=context.user_id, booking_id=7)
while booking["status"] == "pending":
    time.sleep(0.2)
    booking = pam.get_booking(user_id=context.user_id, booking_id=7)
[booking["status"], booking["arrive"]]
""",
        context=ME,
        direct=_wait,
        expected=_wait_truth,
    ),
    Task(
        id="pam-mileage",
        app="pam",
        kind="report",
        question=f"How many miles per gallon did each of my vehicles do since 2025-07-01? Leave out the first fill. {TODAY}",
        searches=("fuel log of my vehicles with gallons and odometer",),
        program="""\
from servers import pam
answer = {}
for v in pam.list_vehicles(user_id=context.user_id):
    log = pam.get_fuel_log(user_id=context.user_id, vehicle_id=v["id"], start_date="2025-07-01")
    answer[v["name"]] = round((log[-1]["odometer"] - log[0]["odometer"]) / sum(f["gallons"] for f in log[1:]), 1)
answer
""",
        context=ME,
        direct=_mileage,
        expected=_mileage_truth,
    ),
    Task(
        id="pam-budget",
        app="pam",
        kind="chat",
        question=f"Which categories were over my monthly budget in June 2026, and by how much? {TODAY}",
        searches=("monthly budget per category", "total expenses per category between two dates"),
        program="""\
from servers import pam
limits = {b["category"]: b["monthly"] for b in pam.get_budgets(user_id=context.user_id)}
totals = pam.sum_expenses_by_category(user_id=context.user_id, start_date="2026-06-01", end_date="2026-06-30")
over = {t["category"]: round(t["total"] - limits[t["category"]], 2) for t in totals}
{c: o for c, o in sorted(over.items()) if o > 0}
""",
        context=ME,
        direct=_budget,
        expected=_budget_truth,
    ),
    Task(
        id="pam-twice",
        app="pam",
        kind="chat",
        question=f"Was I charged twice for anything? How often, and how much is that in all? {TODAY}",
        searches=("find expenses charged twice",),
        program="""\
from servers import pam
twice = pam.find_duplicate_expenses(user_id=context.user_id)
[len(twice), round(sum(e["amount"] for e in twice), 2)]
""",
        context=ME,
        direct=_twice,
        expected=_twice_truth,
    ),
    Task(
        id="pam-merchants",
        app="pam",
        kind="report",
        question=f"At which three merchants did I spend most in 2025? {TODAY}",
        searches=("expenses between two dates with merchant",),
        program="""\
from servers import pam
from collections import Counter
totals = Counter()
for e in pam.get_expenses(user_id=context.user_id, start_date="2025-01-01", end_date="2025-12-31"):
    totals[e["merchant"]] += e["amount"]
[[m, round(t, 2)] for m, t in totals.most_common(3)]
""",
        context=ME,
        direct=_merchants,
        expected=_merchants_truth,
    ),
    Task(
        id="pam-plan",
        app="pam",
        kind="report",
        question=(
            "When does my first free span of six days or more begin between 2026-07-01 and 2026-09-30, and which of these routes is "
            f"cheapest in all at two nights per stop and at most $60 a night: UT-CO-WY, AZ-NM-TX, OR-WA-ID? {TODAY}"
        ),
        searches=("free days in my calendar", "propose a trip through states with cost"),
        program="""\
from servers import pam
gaps = pam.find_free_days(user_id=context.user_id, start_date="2026-07-01", end_date="2026-09-30", at_least=6)
routes = [["UT", "CO", "WY"], ["AZ", "NM", "TX"], ["OR", "WA", "ID"]]
plans = [pam.plan_trip(states=r, nights_per_stop=2, max_rate=60) for r in routes]
cheapest = min(zip(plans, routes), key=lambda pr: pr[0]["camping_cost"] + pr[0]["fuel_cost"])
[gaps[0]["start_date"], cheapest[1]]
""",
        context=ME,
        direct=_plan,
        expected=_plan_truth,
    ),
    Task(
        id="pam-favorite",
        app="pam",
        kind="chat",
        question=f"Which of my favorite parks do guests rate best, by the mean of their stars? {TODAY}",
        searches=("my favorite parks and reviews of a park",),
        program="""\
from servers import pam
best = []
for park in pam.list_favorite_parks(user_id=context.user_id):
    stars = [r["stars"] for r in pam.list_park_reviews(park_id=park["id"])]
    if stars:
        best.append([park["name"], round(sum(stars) / len(stars), 2)])
min(best, key=lambda b: (-b[1], b[0]))
""",
        context=ME,
        direct=_favorite,
        expected=_favorite_truth,
    ),
    Task(
        id="pam-people",
        app="pam",
        kind="chat",
        question=f"With how many different people did I have something in my calendar from January to June 2026, in how many entries? {TODAY}",
        searches=("calendar entries between two dates",),
        program="""\
from servers import pam
entries = pam.get_calendar(user_id=context.user_id, start_date="2026-01-01", end_date="2026-06-30")
[len({e["with_email"] for e in entries}), len(entries)]
""",
        context=ME,
        direct=_people,
        expected=_people_truth,
    ),
)
