"""The house in PostgreSQL: every tool answers as from SQLite, and nothing can be changed."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from examples.homeiq.automation import Automations
from examples.homeiq.data import Data
from examples.homeiq.devices import Devices
from examples.homeiq.stored import chosen_records, open_postgres, open_records
from examples.records import Records


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months of the generated year: enough to compare, and quick to copy."""
    path = tmp_path_factory.mktemp("house") / "part.sqlite"
    with closing(sqlite3.connect(path)) as new:
        whole = open_records().connection
        for (sql,) in whole.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC"):
            new.execute(sql)
        for table, marks, where in (("devices", "?, ?, ?, ?, ?", "1"), ("events", "?, ?, ?, ?, ?, ?", "at >= '2026-05-01'")):
            new.executemany(
                f"INSERT INTO {table} VALUES ({marks})", map(tuple, whole.execute(f"SELECT * FROM {table} WHERE {where}"))
            )
        new.commit()
        whole.close()
    return path


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def in_postgres(part: Path, url: str) -> Generator[Records]:
    records = open_postgres(url, part)
    with closing(records.database):
        yield records


JUNE = {"start": "2026-06-01", "end": "2026-07-01"}
CALLS: list[tuple[type, str, dict[str, Any]]] = [
    (Data, "get_devices", {}),
    (Data, "get_devices", {"area": "kitchen"}),
    (Data, "get_devices", {"domain": "light", "area": "kitchen"}),
    (Data, "query_device_history", {"entity_id": "sensor.temperature_garden", **JUNE}),
    (Data, "query_device_history", {"entity_id": "lock.front_door", **JUNE, "limit": 3}),
    (Data, "query_device_history", {"entity_id": "' OR 1=1 --", **JUNE}),
    (Data, "search_events", {**JUNE, "limit": 20_000}),
    (Data, "search_events", {**JUNE, "area": "kitchen", "domain": "light", "state": "on"}),
    (Automations, "detect_patterns", {"days": 60}),
    (Automations, "detect_patterns", {"entity_id": "switch.coffee_machine", "days": 60}),
    (Automations, "generate_automation", {"entity_id": "light.kitchen", "state": "on", "time": "06:50"}),
    (Devices, "get_device_capabilities", {"entity_id": "light.kitchen"}),
]


def test_every_tool_answers_the_same_on_both_databases(part: Path, in_postgres: Records) -> None:
    sqlite = open_records(part)
    with closing(sqlite.database):
        for group, tool, arguments in CALLS:
            answer = getattr(group(sqlite), tool)(**arguments)
            assert getattr(group(in_postgres), tool)(**arguments) == answer, tool
            assert answer or "OR 1=1" in str(arguments)


def test_a_device_that_is_not_there_is_said_on_both(in_postgres: Records) -> None:
    with pytest.raises(ToolError, match="no such record"):
        Devices(in_postgres).get_device_capabilities("light.nowhere")


def test_the_records_in_postgres_cannot_be_changed(in_postgres: Records) -> None:
    with pytest.raises(ToolError, match="read-only"):
        in_postgres.change("DELETE FROM events")


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, url: str, in_postgres: Records) -> None:
    monkeypatch.setenv("HOMEIQ_DATABASE_URL", url)
    records = chosen_records(None)
    with closing(records.database):
        assert len(Data(records).get_devices()) == 63

    monkeypatch.setenv("HOMEIQ_DATABASE_URL", "postgresql://mill:sesame@127.0.0.1:1/none")
    with pytest.raises(ValueError, match=r"HOMEIQ_DATABASE_URL: .*did not answer") as raised:
        chosen_records(None)
    assert "sesame" not in str(raised.value)
