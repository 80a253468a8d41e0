"""``python -m examples.homeiq.automation``: habits found in the past, automations written for the future."""

from datetime import timedelta

from mcp.server.mcpserver.exceptions import ToolError

from examples.homeiq.habits import DAY_NAMES, find_habits
from examples.homeiq.rows import Automation, EventRow, Pattern
from examples.homeiq.seed import TODAY
from examples.homeiq.starting import start
from examples.homeiq.writing import write
from examples.records import Records
from examples.serving import reads

PORT = 8024


class Automations:
    """Tools about habits and automations."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def detect_patterns(self, entity_id: str | None = None, days: int = 90, min_support: float = 0.7) -> list[Pattern]:
        """Habits of the last days: which device enters which state at what time on which weekdays, most reliable first."""
        first = TODAY - timedelta(days=max(7, min(days, 365)))
        events = self._records.rows(
            EventRow,
            """SELECT entity_id, at, state FROM events
               WHERE (CAST(:entity AS TEXT) IS NULL OR entity_id = :entity) AND at >= :first
               AND domain NOT IN ('sensor', 'binary_sensor') ORDER BY at""",
            entity=entity_id, first=str(first),
        )  # fmt: skip
        return find_habits(events, first, TODAY, min_support)

    @reads
    def generate_automation(
        self, entity_id: str, state: str, time: str, weekdays: list[str] | None = None, alias: str | None = None
    ) -> Automation:
        """Write a Home Assistant automation (YAML) for a device, state, time (HH:MM) and weekdays (mon, tue); not installed."""
        try:
            return write(entity_id, state, time, list(weekdays or DAY_NAMES), alias)
        except ValueError as error:
            raise ToolError(str(error)) from None


if __name__ == "__main__":
    start("homeiq-automation", "HomeIQ: habits and automations", PORT, lambda records: Automations(records()))
