"""What the three servers answer with; these become the tools' output schemas."""

from typing_extensions import TypedDict


class DeviceRow(TypedDict):
    """A device of the house."""

    entity_id: str
    name: str
    domain: str
    area: str
    unit: str


class EventRow(TypedDict):
    """A change of a device's state, or a reading."""

    entity_id: str
    at: str
    state: str


class Pattern(TypedDict):
    """A habit: what happens, when, on which days, and on which share of those days it did."""

    entity_id: str
    state: str
    time: str
    weekdays: list[str]
    support: float
    occurrences: int


class Automation(TypedDict):
    """A Home Assistant automation that has been checked."""

    alias: str
    yaml: str


class Capabilities(TypedDict):
    """What a device can do."""

    entity_id: str
    domain: str
    model: str
    states: list[str]
    services: list[str]
    unit: str
    is_controllable: bool
