"""Places to stay, what guests say of them, and bookings that take a while."""

from examples.pam.rows import Availability, Booking, Done, Park, Review
from examples.records import Records
from examples.serving import destroys, reads, writes

_PARK = "SELECT id, name, state, lat, lon, rate, sites, hookups, pets, wifi, rating FROM parks"
POLLS_UNTIL_CONFIRMED = 6
"""How often one has to ask before a park has answered; counted, not timed, so that programs end the same way everywhere."""


class Parks:
    """Tools about parks and bookings."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def find_parks(
        self, state: str | None = None, max_rate: float = 1000, hookups: str | None = None, pets: bool = False, limit: int = 50
    ) -> list[Park]:
        """Parks by state, nightly rate, hookups (none, electric, full) and whether pets are welcome, best rated first."""
        return self._records.rows(
            Park,
            f"""{_PARK} WHERE (CAST(:state AS TEXT) IS NULL OR state = :state) AND rate <= :rate AND pets >= :pets
                AND (CAST(:hookups AS TEXT) IS NULL OR hookups = :hookups) ORDER BY rating DESC, rate, id LIMIT :limit""",
            state=state, rate=max_rate, pets=int(pets), hookups=hookups, limit=limit,
        )  # fmt: skip

    @reads
    def get_park(self, park_id: int) -> Park:
        """One park."""
        return self._records.one(Park, f"{_PARK} WHERE id = :id", id=park_id)

    @reads
    def compare_parks(self, park_ids: list[int]) -> list[Park]:
        """Several parks side by side, cheapest first."""
        found = [self.get_park(park) for park in park_ids[:20]]
        return sorted(found, key=lambda park: park["rate"])

    @reads
    def list_park_reviews(self, park_id: int, limit: int = 50) -> list[Review]:
        """What guests said about a park, newest first."""
        return self._records.rows(
            Review,
            "SELECT id, park_id, stars, text, date FROM reviews WHERE park_id = :park ORDER BY date DESC, id LIMIT :limit",
            park=park_id, limit=limit,
        )  # fmt: skip

    @writes
    def add_park_review(self, user_id: int, park_id: int, stars: int, text: str, date: str) -> Done:
        """Write a review of a park."""
        new = self._records.add(
            "INSERT INTO reviews (park_id, user_id, stars, text, date) VALUES (:park, :user, :stars, :text, :date)",
            park=park_id, user=user_id, stars=max(1, min(5, stars)), text=text, date=date,
        )  # fmt: skip
        return {"id": new, "message": "written"}

    @reads
    def check_availability(self, park_id: int, arrive: str, nights: int = 1) -> Availability:
        """How many sites of a park are free from a day on."""
        park = self.get_park(park_id)
        # A made-up but fixed load: the same question always has the same answer.
        taken = (park_id * 37 + sum(map(ord, arrive)) * 11 + nights) % (park["sites"] + 10)
        return {"park_id": park_id, "arrive": arrive, "nights": nights, "free_sites": max(0, park["sites"] - taken)}

    @reads
    def list_favorite_parks(self, user_id: int) -> list[Park]:
        """Favorite parks of a user."""
        sql = f"{_PARK} WHERE id IN (SELECT park_id FROM favorites WHERE user_id = :user) ORDER BY id"
        return self._records.rows(Park, sql, user=user_id)

    @writes
    def add_favorite_park(self, user_id: int, park_id: int) -> Done:
        """Mark a park as a favorite of a user."""
        sql = "INSERT INTO favorites VALUES (:user, :park) ON CONFLICT (user_id, park_id) DO UPDATE SET park_id = :park"
        self._records.change(sql, user=user_id, park=park_id)
        return {"id": park_id, "message": "marked"}

    @writes
    def book_park(self, user_id: int, park_id: int, arrive: str, nights: int) -> Booking:
        """Ask a park for a site. The booking is pending until the park answers; ask get_booking until it is confirmed."""
        new = self._records.add(
            """INSERT INTO bookings (user_id, park_id, arrive, nights, status, polls)
               SELECT u.id, p.id, :arrive, :nights, 'pending', 0 FROM users u, parks p WHERE u.id = :user AND p.id = :park""",
            user=user_id, park=park_id, arrive=arrive, nights=nights,
        )  # fmt: skip
        return {"id": new, "park_id": park_id, "arrive": arrive, "nights": nights, "status": "pending"}

    @reads
    def list_bookings(self, user_id: int) -> list[Booking]:
        """Bookings of a user, next arrival first."""
        sql = "SELECT id, park_id, arrive, nights, status FROM bookings WHERE user_id = :user ORDER BY arrive, id"
        return self._records.rows(Booking, sql, user=user_id)

    @reads
    def get_booking(self, user_id: int, booking_id: int) -> Booking:
        """Status of a booking of a user; parks take a while to answer, so ask again while it is pending."""
        self._records.change(
            "UPDATE bookings SET polls = polls + 1, status = CASE WHEN status = 'pending' AND polls + 1 >= :enough "
            "THEN 'confirmed' ELSE status END WHERE user_id = :user AND id = :id",
            user=user_id, id=booking_id, enough=POLLS_UNTIL_CONFIRMED,
        )  # fmt: skip
        sql = "SELECT id, park_id, arrive, nights, status FROM bookings WHERE user_id = :user AND id = :id"
        return self._records.one(Booking, sql, user=user_id, id=booking_id)

    @destroys
    def cancel_booking(self, user_id: int, booking_id: int) -> Done:
        """Cancel a booking of a user."""
        self._records.change(
            "UPDATE bookings SET status = 'canceled' WHERE user_id = :user AND id = :id", user=user_id, id=booking_id
        )
        return {"id": booking_id, "message": "canceled"}
