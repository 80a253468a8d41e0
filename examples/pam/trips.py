"""Journeys: past, planned and proposed."""

from itertools import pairwise

from examples.pam.rows import Cost, Done, Leg, Park, Plan, Stop, Trip
from examples.pam.ways import MILES_PER_HOUR, miles
from examples.records import Records
from examples.serving import destroys, reads, writes

_TRIP = "SELECT id, name, start_date, end_date, status, budget FROM trips"
_PARK = "SELECT id, name, state, lat, lon, rate, sites, hookups, pets, wifi, rating FROM parks"
FUEL_PER_MILE = 0.42


class Trips:
    """Tools about trips and their stops."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def list_trips(self, user_id: int, status: str | None = None) -> list[Trip]:
        """Trips of a user, oldest first; status is done, under way, planned or canceled."""
        sql = f"{_TRIP} WHERE user_id = :user AND (CAST(:status AS TEXT) IS NULL OR status = :status) ORDER BY start_date, id"
        return self._records.rows(Trip, sql, user=user_id, status=status)

    @reads
    def get_trip(self, user_id: int, trip_id: int) -> Trip:
        """One trip of a user."""
        return self._records.one(Trip, f"{_TRIP} WHERE user_id = :user AND id = :id", user=user_id, id=trip_id)

    @reads
    def list_stops(self, user_id: int, trip_id: int) -> list[Stop]:
        """Stops of a trip in order: park, arrival, nights, cost."""
        return self._records.rows(
            Stop,
            """SELECT s.id, s.trip_id, s.park_id, p.name AS park, p.state, s.arrive, s.nights, s.cost FROM stops s
               JOIN parks p ON p.id = s.park_id WHERE s.user_id = :user AND s.trip_id = :trip ORDER BY s.arrive, s.id""",
            user=user_id, trip=trip_id,
        )  # fmt: skip

    @reads
    def get_trip_cost(self, user_id: int, trip_id: int) -> Cost:
        """What a trip cost: camping of its stops, other expenses, total, and its budget."""
        return self._records.one(
            Cost,
            """SELECT t.id AS trip_id, round(c.camping, 2) AS camping, round(e.spent, 2) AS expenses,
                      round(c.camping + e.spent, 2) AS total, t.budget FROM trips t,
                 (SELECT coalesce(sum(cost), 0.0) AS camping FROM stops WHERE user_id = :user AND trip_id = :trip) c,
                 (SELECT coalesce(sum(amount), 0.0) AS spent FROM expenses WHERE user_id = :user AND trip_id = :trip) e
               WHERE t.user_id = :user AND t.id = :trip""",
            user=user_id, trip=trip_id,
        )  # fmt: skip

    @reads
    def get_route(self, user_id: int, trip_id: int) -> list[Leg]:
        """Legs of a trip: miles and hours from each stop to the next."""
        parks = self._records.rows(
            Park,
            """SELECT p.* FROM stops s JOIN parks p ON p.id = s.park_id
               WHERE s.user_id = :user AND s.trip_id = :trip ORDER BY s.arrive, s.id""",
            user=user_id, trip=trip_id,
        )  # fmt: skip
        return [_leg(one, other) for one, other in pairwise(parks)]

    @reads
    def estimate_drive(self, from_park_id: int, to_park_id: int) -> Leg:
        """Miles and hours between two parks."""
        one, other = (self._records.one(Park, f"{_PARK} WHERE id = :id", id=park) for park in (from_park_id, to_park_id))
        return _leg(one, other)

    @reads
    def plan_trip(self, states: list[str], nights_per_stop: int = 2, max_rate: float = 80, pets: bool = False) -> Plan:
        """Propose a trip through states in order: the best rated park of each within the rate. Nothing is saved."""
        parks: list[Park] = []
        for state in states[:12]:
            sql = f"{_PARK} WHERE state = :state AND rate <= :rate AND pets >= :pets ORDER BY rating DESC, rate, id LIMIT 1"
            parks.append(self._records.one(Park, sql, state=state, rate=max_rate, pets=int(pets)))
        driven = sum(_leg(one, other)["miles"] for one, other in pairwise(parks))
        return {
            "parks": [park["name"] for park in parks],
            "park_ids": [park["id"] for park in parks],
            "miles": round(driven, 1),
            "nights": nights_per_stop * len(parks),
            "camping_cost": round(sum(park["rate"] for park in parks) * nights_per_stop, 2),
            "fuel_cost": round(driven * FUEL_PER_MILE, 2),
        }

    @writes
    def create_trip(self, user_id: int, name: str, start_date: str, end_date: str, budget: float) -> Done:
        """Create a planned trip for a user."""
        new = self._records.add(
            """INSERT INTO trips (user_id, name, start_date, end_date, status, budget)
               SELECT id, :name, :start, :end, 'planned', :budget FROM users WHERE id = :user""",
            user=user_id, name=name, start=start_date, end=end_date, budget=budget,
        )  # fmt: skip
        return {"id": new, "message": "planned"}

    @destroys
    def cancel_trip(self, user_id: int, trip_id: int) -> Done:
        """Cancel a planned trip of a user."""
        self._records.change(
            "UPDATE trips SET status = 'canceled' WHERE user_id = :user AND id = :id AND status = 'planned'",
            user=user_id,
            id=trip_id,
        )
        return {"id": trip_id, "message": "canceled"}

    @writes
    def add_stop(self, user_id: int, trip_id: int, park_id: int, arrive: str, nights: int) -> Done:
        """Add a stop to a trip of a user, at the park's present rate."""
        new = self._records.add(
            """INSERT INTO stops (user_id, trip_id, park_id, arrive, nights, cost) SELECT t.user_id, t.id, p.id, :arrive, :nights,
               round(p.rate * :nights, 2) FROM trips t, parks p WHERE t.id = :trip AND t.user_id = :user AND p.id = :park""",
            user=user_id, trip=trip_id, park=park_id, arrive=arrive, nights=nights,
        )  # fmt: skip
        return {"id": new, "message": "added"}

    @destroys
    def remove_stop(self, user_id: int, stop_id: int) -> Done:
        """Remove a stop from a trip of a user."""
        self._records.change("DELETE FROM stops WHERE user_id = :user AND id = :id", user=user_id, id=stop_id)
        return {"id": stop_id, "message": "removed"}


def _leg(one: Park, other: Park) -> Leg:
    driven = miles(one["lat"], one["lon"], other["lat"], other["lon"])
    return {"from_park": one["name"], "to_park": other["name"], "miles": driven, "hours": round(driven / MILES_PER_HOUR, 1)}
