"""``python -m examples.homeiq.data``: what devices there are and what happened to them."""

from pathlib import Path

from examples.cached import made_once, open_read_only
from examples.homeiq.rows import DeviceRow, EventRow
from examples.homeiq.seed import FILE, build
from examples.records import Records
from examples.serving import arguments, reads, serve, server_of

PORT = 8006


def open_records(path: Path | None) -> Records:
    """The year of events; generated on the first call on this machine."""
    return Records(open_read_only(path or made_once(FILE, build)))


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
               WHERE (:area IS NULL OR area = :area) AND (:domain IS NULL OR domain = :domain) ORDER BY entity_id""",
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
            """SELECT entity_id, at, state FROM events WHERE at >= :start AND at < :end AND (:area IS NULL OR area = :area)
               AND (:domain IS NULL OR domain = :domain) AND (:state IS NULL OR state = :state) ORDER BY at, id LIMIT :limit""",
            start=start, end=end, area=area, domain=domain, state=state, limit=limit,
        )  # fmt: skip


if __name__ == "__main__":
    parser = arguments("HomeIQ: devices and events", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    serve(server_of("homeiq-data", Data(open_records(chosen.db))), chosen.http)
