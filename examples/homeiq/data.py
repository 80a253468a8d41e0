"""``python -m examples.homeiq.data``: what devices there are and what happened to them.

With ``HA_HTTP_URL`` and ``HA_TOKEN`` in its environment it asks a live Home Assistant instead of the records.
"""

import os

from examples.homeiq.rows import DeviceRow, EventRow
from examples.homeiq.starting import start
from examples.records import Records
from examples.serving import reads

PORT = 8006
HOME, TOKEN = "HA_HTTP_URL", "HA_TOKEN"


class Data:
    """Tools about devices and their past."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def get_devices(self, area: str | None = None, domain: str | None = None) -> list[DeviceRow]:
        """Devices of the house, optionally of one area (kitchen) or domain (light, switch, sensor, lock, cover, climate)."""
        return self._records.rows(
            DeviceRow,
            """SELECT entity_id, name, domain, area, unit FROM devices
               WHERE (CAST(:area AS TEXT) IS NULL OR area = :area) AND (CAST(:domain AS TEXT) IS NULL OR domain = :domain)
               ORDER BY entity_id""",
            area=area, domain=domain,
        )  # fmt: skip

    @reads
    def query_device_history(self, entity_id: str, start: str, end: str, limit: int = 20_000) -> list[EventRow]:
        """States and readings of one device between two moments (ISO 8601, local time), oldest first."""
        return self._records.rows(
            EventRow,
            """SELECT entity_id, at, state FROM events WHERE entity_id = :entity AND at >= :start AND at < :end
               ORDER BY at, id LIMIT :limit""",
            entity=entity_id, start=start, end=end, limit=limit,
        )  # fmt: skip

    @reads
    def search_events(
        self,
        start: str,
        end: str,
        area: str | None = None,
        domain: str | None = None,
        state: str | None = None,
        limit: int = 5_000,
    ) -> list[EventRow]:
        """Events of all devices between two moments, optionally of one area, domain or state, oldest first."""
        return self._records.rows(
            EventRow,
            """SELECT entity_id, at, state FROM events WHERE at >= :start AND at < :end
               AND (CAST(:area AS TEXT) IS NULL OR area = :area) AND (CAST(:domain AS TEXT) IS NULL OR domain = :domain)
               AND (CAST(:state AS TEXT) IS NULL OR state = :state) ORDER BY at, id LIMIT :limit""",
            start=start, end=end, area=area, domain=domain, state=state, limit=limit,
        )  # fmt: skip


def live_data() -> object | None:
    """The tools on a live Home Assistant, if the environment names one.

    Raises:
        ValueError: it names only half of it, or nothing that can be one.
    """
    url, token = os.environ.get(HOME), os.environ.get(TOKEN)
    if not url and not token:
        return None
    if not url or not token:
        raise ValueError(f"{HOME} and {TOKEN} belong together: set both, or none of them")
    # Only here: nobody else has to load the clients.
    from examples.homeiq.home import Home
    from examples.homeiq.live import LiveData

    return LiveData(Home(url, token))


if __name__ == "__main__":
    start("homeiq-data", "HomeIQ: devices and events", PORT, lambda records: live_data() or Data(records()))
