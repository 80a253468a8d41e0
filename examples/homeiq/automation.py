"""``python -m examples.homeiq.automation``: habits found in the past, automations written for the future.

Over HTTP it also answers wishes in plain words (``POST /automations``), if ``HOMEIQ_MODEL`` names a model.
"""

import inspect
from datetime import timedelta
from typing import Any, Literal

from mcp.server.mcpserver.exceptions import ToolError

from examples.homeiq.data import Data, live_data
from examples.homeiq.forms import check_devices, check_forms
from examples.homeiq.habits import DAY_NAMES, find_habits
from examples.homeiq.rows import Automation, DeviceRow, EventRow, Pattern
from examples.homeiq.seed import STATES, TODAY
from examples.homeiq.starting import start
from examples.homeiq.writing import write, write_checked
from examples.records import Records
from examples.serving import reads

PORT = 8024


class Automations:
    """Tools about habits and automations."""

    def __init__(self, records: Records, house: Any = None) -> None:
        """Takes the records of the past; ``house`` answers ``get_devices``, and is those records if it is not given."""
        self._records, self._house = records, house or Data(records)

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

    @reads
    async def write_automation(
        self,
        alias: str,
        triggers: list[dict[str, Any]],
        actions: list[dict[str, Any]],
        conditions: list[dict[str, Any]] | None = None,
        description: str = "",
        mode: Literal["single", "restart", "queued", "parallel"] = "single",
    ) -> Automation:
        """Check a Home Assistant automation against its format and the devices of the house, and write it as YAML; not installed.

        Triggers: {"trigger": "state", "entity_id": [...], "to": "home"}, "numeric_state" (above, below), "sun" (event: sunset,
        offset), "time" (at: "HH:MM:SS"). Conditions: "state", "numeric_state", "sun" (after, before), "time" (after, before,
        weekday), "and", "or", "not". From sunset to sunrise: {"condition": "state", "entity_id": "sun.sun", "state":
        "below_horizon"}. Actions: {"action": "light.turn_on", "target": {"entity_id": ...}, "data": {...}},
        {"delay": "HH:MM:SS"}.
        """
        described: dict[str, Any] = {
            "alias": alias, "description": description, "triggers": triggers, "conditions": conditions or [], "actions": actions,
            "mode": mode,
        }  # fmt: skip
        try:
            check_forms(described)
            check_devices(described, {each["entity_id"]: list_states(each) for each in await self.list_devices()})
            return write_checked(described)
        except ValueError as error:
            raise ToolError(str(error)) from None

    async def list_devices(self) -> list[DeviceRow]:
        """The devices of the house, live or from the records."""
        found = self._house.get_devices()
        return await found if inspect.isawaitable(found) else found


def list_states(device: DeviceRow) -> tuple[str, ...]:
    """The states that a device can be in; none where they are open, as for sensors."""
    return STATES.get(device["domain"], ())


def _make_tools(records: Records) -> Automations:
    return Automations(records, live_data())


def _make_router(tools: object) -> Any:
    # Only here: a start over stdio does not wait for LangChain.
    from examples.homeiq.wishes.wish_route import make_router

    assert isinstance(tools, Automations)
    return make_router(tools)


if __name__ == "__main__":
    about = "HomeIQ: habits and automations"
    start("homeiq-automation", about, PORT, lambda records: _make_tools(records()), make_router=_make_router)
