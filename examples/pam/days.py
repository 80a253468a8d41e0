"""The calendar, and who its owner is."""

from datetime import date, timedelta

from examples.pam.rows import Card, Done, Event, Gap, Profile
from examples.records import Records
from examples.serving import destroys, reads, writes


class Days:
    """Tools about the calendar and the traveller."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def get_calendar(self, user_id: int, start_date: str, end_date: str) -> list[Event]:
        """Entries of a user's calendar that touch a span of days."""
        return self._records.rows(
            Event,
            """SELECT id, title, start_date, end_date, place, with_email FROM events
               WHERE user_id = :user AND start_date <= :end AND end_date >= :start ORDER BY start_date, id""",
            user=user_id, start=start_date, end=end_date,
        )  # fmt: skip

    @reads
    def find_free_days(self, user_id: int, start_date: str, end_date: str, at_least: int = 3) -> list[Gap]:
        """Spans without an entry in a user's calendar, at least so many days long."""
        beyond = date.fromisoformat(end_date) + timedelta(days=1)
        busy = [
            (date.fromisoformat(e["start_date"]), date.fromisoformat(e["end_date"]))
            for e in self.get_calendar(user_id, start_date, end_date)
        ]
        gaps: list[Gap] = []
        day = date.fromisoformat(start_date)
        for start, end in [*busy, (beyond, beyond)]:
            if (start - day).days >= at_least:
                gaps.append({"start_date": str(day), "end_date": str(start - timedelta(days=1)), "days": (start - day).days})
            day = max(day, end + timedelta(days=1))
        return gaps

    @writes
    def add_event(self, user_id: int, title: str, start_date: str, end_date: str, place: str = "", with_email: str = "") -> Done:
        """Add an entry to a user's calendar."""
        new = self._records.add(
            """INSERT INTO events (user_id, title, start_date, end_date, place, with_email)
               SELECT id, :title, :start, :end, :place, :friend FROM users WHERE id = :user""",
            user=user_id, title=title, start=start_date, end=end_date, place=place, friend=with_email,
        )  # fmt: skip
        return {"id": new, "message": "added"}

    @destroys
    def delete_event(self, user_id: int, event_id: int) -> Done:
        """Delete an entry of a user's calendar."""
        self._records.change("DELETE FROM events WHERE user_id = :user AND id = :id", user=user_id, id=event_id)
        return {"id": event_id, "message": "deleted"}

    @reads
    def get_profile(self, user_id: int) -> Profile:
        """Name, mail address, phone and home state of a user."""
        return self._records.one(Profile, "SELECT id, name, email, phone, home_state FROM users WHERE id = :user", user=user_id)

    @reads
    def list_cards(self, user_id: int) -> list[Card]:
        """Payment cards of a user."""
        return self._records.rows(Card, "SELECT name AS holder, card FROM users WHERE id = :user", user=user_id)
