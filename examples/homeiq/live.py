"""The data server's tools on a live Home Assistant: the same names, arguments and rows as from the database."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError

from examples.homeiq.home import Home
from examples.homeiq.rows import DeviceRow, EventRow
from examples.serving import reads

REGISTRIES = ("get_states", "config/entity_registry/list", "config/device_registry/list", "config/area_registry/list")

_ENTITY = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+")


class LiveData:
    """Tools about devices and their past, as Home Assistant knows them now."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @reads
    async def get_devices(self, area: str | None = None, domain: str | None = None) -> list[DeviceRow]:
        """Devices of the house, optionally of one area (kitchen) or domain (light, switch, sensor, lock, cover, climate)."""
        states, entities, devices, areas = await self._home.ask(*REGISTRIES)
        names: dict[str, str] = {each["area_id"]: each["name"] for each in areas}
        place_of_device = {each["id"]: each.get("area_id") for each in devices}
        places = {each["entity_id"]: each.get("area_id") or place_of_device.get(each.get("device_id")) for each in entities}
        rows = [_device(state, places.get(state["entity_id"]) or "") for state in states]
        wanted = [row for row in rows if domain in (None, row["domain"]) and _is_area(area, row["area"], names)]
        return sorted(wanted, key=lambda row: row["entity_id"])

    @reads
    async def query_device_history(self, entity_id: str, start: str, end: str, limit: int = 20_000) -> list[EventRow]:
        """States and readings of one device between two moments (ISO 8601, local time), oldest first."""
        if not _ENTITY.fullmatch(entity_id):
            return []  # no device has such a name, and a comma would ask for several
        zone = await self._home.zone()
        first, last = _moment("start", start, zone), _moment("end", end, zone)
        found = await self._home.get(
            f"/api/history/period/{first.isoformat()}",
            end_time=last.isoformat(),
            filter_entity_id=entity_id,
            minimal_response="",
            no_attributes="",
            # Readings that repeat the one before count too, and the state from before the span does not.
            significant_changes_only="0",
            skip_initial_state="",
        )
        changes = [{**change, "entity_id": entity_id, "when": change["last_changed"]} for rows in found for change in rows]
        return _events(changes, first, last, zone)[: max(0, limit)]

    @reads
    async def search_events(
        self,
        start: str,
        end: str,
        area: str | None = None,
        domain: str | None = None,
        state: str | None = None,
        limit: int = 5_000,
    ) -> list[EventRow]:
        """Events of all devices between two moments, optionally of one area, domain or state, oldest first. Measurements are in
        query_device_history only.
        """
        zone = await self._home.zone()
        first, last = _moment("start", start, zone), _moment("end", end, zone)
        inside = None if area is None else {row["entity_id"] for row in await self.get_devices(area)}
        book = await self._home.get(f"/api/logbook/{first.isoformat()}", end_time=last.isoformat())
        changes = [each for each in book if "state" in each and "entity_id" in each]  # the rest are notes, such as "started"
        return [
            event
            for event in _events(changes, first, last, zone)
            if (inside is None or event["entity_id"] in inside)
            and domain in (None, event["entity_id"].partition(".")[0])
            and state in (None, event["state"])
        ][: max(0, limit)]


def _device(state: Mapping[str, Any], area: str) -> DeviceRow:
    entity, attributes = str(state["entity_id"]), state["attributes"]
    return {
        "entity_id": entity,
        "name": str(attributes.get("friendly_name") or entity),
        "domain": entity.partition(".")[0],
        "area": area,
        "unit": str(attributes.get("unit_of_measurement") or ""),
    }


def _is_area(wanted: str | None, area: str, names: Mapping[str, str]) -> bool:
    """Whether ``area`` is the one that was asked for, by its id or by its name."""
    return wanted is None or wanted == area or wanted.casefold() == names.get(area, "").casefold()


def _events(changes: Iterable[Mapping[str, Any]], first: datetime, last: datetime, zone: ZoneInfo) -> list[EventRow]:
    rows: list[EventRow] = []
    dated = [(datetime.fromisoformat(each["when"]), each) for each in changes]
    for at, change in sorted(dated, key=lambda pair: pair[0]):
        if first <= at < last:
            local = at.astimezone(zone).replace(tzinfo=None).isoformat(timespec="seconds")
            rows.append({"entity_id": str(change["entity_id"]), "at": local, "state": str(change["state"])})
    return rows


def _moment(name: str, text: str, zone: ZoneInfo) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(f"{name} is no moment in ISO 8601, such as 2026-06-30 or 2026-06-30T18:00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=zone)
