"""Vehicles, what they drink, and where it is cheap."""

from examples.pam.rows import Done, FuelStop, Mileage, Price, Station, Vehicle
from examples.pam.ways import miles
from examples.records import Records
from examples.serving import reads, writes


class Fuel:
    """Tools about vehicles and fuel."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def list_vehicles(self, user_id: int) -> list[Vehicle]:
        """Vehicles of a user."""
        sql = "SELECT id, name, kind, length_ft, tank_gallons FROM vehicles WHERE user_id = :user ORDER BY id"
        return self._records.rows(Vehicle, sql, user=user_id)

    @reads
    def get_fuel_log(
        self, user_id: int, vehicle_id: int | None = None, start_date: str = "", end_date: str = "9999"
    ) -> list[FuelStop]:
        """Fills of a user's vehicles between two days: gallons, price per gallon, odometer."""
        return self._records.rows(
            FuelStop,
            """SELECT id, vehicle_id, date, station_id, gallons, price, odometer FROM fuel WHERE user_id = :user
               AND (CAST(:vehicle AS INTEGER) IS NULL OR vehicle_id = :vehicle) AND date BETWEEN :start AND :end
               ORDER BY date, id""",
            user=user_id, vehicle=vehicle_id, start=start_date, end=end_date,
        )  # fmt: skip

    @writes
    def add_fuel_stop(
        self, user_id: int, vehicle_id: int, date: str, station_id: int, gallons: float, price: float, odometer: int
    ) -> Done:
        """Record a fill of a user's vehicle."""
        new = self._records.add(
            """INSERT INTO fuel (user_id, vehicle_id, date, station_id, gallons, price, odometer)
               SELECT user_id, id, :date, :station, :gallons, :price, :odometer FROM vehicles
               WHERE id = :vehicle AND user_id = :user""",
            user=user_id, vehicle=vehicle_id, date=date, station=station_id, gallons=gallons, price=price, odometer=odometer,
        )  # fmt: skip
        return {"id": new, "message": "recorded"}

    @reads
    def get_mileage(self, user_id: int, vehicle_id: int) -> Mileage:
        """Miles driven, gallons used and miles per gallon of a user's vehicle."""
        return self._records.one(
            Mileage,
            """SELECT vehicle_id, max(odometer) - min(odometer) AS miles, round(sum(gallons), 1) AS gallons,
                      round((max(odometer) - min(odometer)) / sum(gallons), 2) AS miles_per_gallon
               FROM fuel WHERE user_id = :user AND vehicle_id = :vehicle GROUP BY vehicle_id""",
            user=user_id, vehicle=vehicle_id,
        )  # fmt: skip

    @reads
    def find_fuel_stations(self, lat: float, lon: float, within_miles: float = 100, rv_lanes: bool = False) -> list[Station]:
        """Fuel stations near a place, cheapest diesel first."""
        sql = (
            "SELECT id, name, state, lat, lon, diesel, regular, rv_lanes FROM stations WHERE rv_lanes >= :rv ORDER BY diesel, id"
        )
        found = self._records.rows(Station, sql, rv=int(rv_lanes))
        return [station for station in found if miles(lat, lon, station["lat"], station["lon"]) <= within_miles]

    @reads
    def get_fuel_prices(self, state: str | None = None) -> list[Price]:
        """Mean price per gallon by state."""
        return self._records.rows(
            Price,
            """SELECT state, round(avg(diesel), 3) AS diesel, round(avg(regular), 3) AS regular, count(*) AS stations
               FROM stations WHERE CAST(:state AS TEXT) IS NULL OR state = :state GROUP BY state ORDER BY state""",
            state=state,
        )  # fmt: skip

    @reads
    def estimate_fuel_cost(self, user_id: int, vehicle_id: int, distance_miles: float, price_per_gallon: float = 4.2) -> float:
        """What a distance costs in fuel with a user's vehicle, by its own mileage."""
        return round(distance_miles / self.get_mileage(user_id, vehicle_id)["miles_per_gallon"] * price_per_gallon, 2)
