"""The house: its devices, and the habits of the people in it, which nobody wrote down. Patterns are judged against these."""

from dataclasses import dataclass

EVERY_DAY = (0, 1, 2, 3, 4, 5, 6)
WEEKDAYS, WEEKEND = (0, 1, 2, 3, 4), (5, 6)

AREAS = "kitchen living_room bedroom bathroom office hallway garage garden kids_room laundry".split()
MODELS = {
    "light": "Hue White",
    "switch": "Shelly Plug S",
    "lock": "Nuki 4",
    "cover": "Somfy IO",
    "climate": "Tado V3",
    "media_player": "Sonos One",
    "binary_sensor": "Aqara Motion",
    "sensor": "Aqara Climate",
    "person": "Companion app",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One entity, as Home Assistant would call it."""

    entity_id: str
    area: str
    unit: str = ""

    @property
    def domain(self) -> str:
        return self.entity_id.partition(".")[0]

    @property
    def name(self) -> str:
        return self.entity_id.partition(".")[2].replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Something that is done again and again: at ``minute`` of the day, give or take ``spread`` minutes, on most of ``days``."""

    entity_id: str
    state: str
    minute: int
    days: tuple[int, ...] = EVERY_DAY
    spread: float = 6.0
    kept: float = 0.92


def _devices() -> tuple[Device, ...]:
    found = [Device(entity_id=f"light.{area}", area=area) for area in AREAS]
    found += [Device(entity_id=f"binary_sensor.motion_{area}", area=area) for area in AREAS]
    found += [Device(entity_id=f"sensor.temperature_{area}", area=area, unit="°C") for area in AREAS]
    found += [Device(entity_id=f"sensor.humidity_{area}", area=area, unit="%") for area in AREAS[:5]]
    found += [Device(entity_id=f"climate.{area}", area=area, unit="°C") for area in ("living_room", "bedroom", "office")]
    found += [Device(entity_id=f"cover.{area}", area=area) for area in ("living_room", "bedroom", "garage")]
    switches = {
        "coffee_machine": "kitchen",
        "dishwasher": "kitchen",
        "washing_machine": "laundry",
        "dryer": "laundry",
        "sprinkler": "garden",
        "vacuum": "hallway",
        "desk": "office",
        "car_charger": "garage",
        "fan": "bedroom",
        "night_light": "kids_room",
    }
    found += [Device(entity_id=f"switch.{name}", area=area) for name, area in switches.items()]
    power = {"coffee_machine": "kitchen", "dishwasher": "kitchen", "washing_machine": "laundry", "car_charger": "garage"}
    found += [Device(entity_id=f"sensor.power_{name}", area=area, unit="W") for name, area in power.items()]
    found += [Device(entity_id=f"lock.{name}", area="hallway") for name in ("front_door", "back_door")]
    found += [Device(entity_id=f"media_player.{area}", area=area) for area in ("living_room", "kitchen", "kids_room")]
    return tuple(found)


DEVICES = _devices()
"""The sixty devices with a year behind them."""
PEOPLE = tuple(Device(entity_id=f"person.{name}", area="") for name in ("anna", "ben"))
NEW = (Device(entity_id="light.porch", area="porch"),)
"""Installed today: nothing happened to it yet."""

HABITS = (
    Habit(entity_id="switch.coffee_machine", state="on", minute=6 * 60 + 45, days=WEEKDAYS, kept=0.95),
    Habit(entity_id="switch.coffee_machine", state="on", minute=8 * 60 + 30, days=WEEKEND, spread=9),
    Habit(entity_id="light.kitchen", state="on", minute=6 * 60 + 50, days=WEEKDAYS),
    Habit(entity_id="light.office", state="on", minute=9 * 60, days=(0, 1, 3), spread=8),
    Habit(entity_id="light.hallway", state="off", minute=23 * 60, spread=10),
    Habit(entity_id="light.garden", state="on", minute=21 * 60, spread=4, kept=0.98),
    Habit(entity_id="cover.bedroom", state="open", minute=7 * 60 + 15, days=WEEKDAYS),
    Habit(entity_id="cover.living_room", state="closed", minute=20 * 60 + 40),
    Habit(entity_id="climate.living_room", state="heat", minute=6 * 60, kept=0.97, spread=3),
    Habit(entity_id="lock.front_door", state="locked", minute=22 * 60 + 30, kept=0.9),
    Habit(entity_id="switch.vacuum", state="on", minute=10 * 60, days=(0, 3), spread=5),
    Habit(entity_id="switch.washing_machine", state="on", minute=11 * 60 + 10, days=(5,), spread=10),
    Habit(entity_id="switch.sprinkler", state="on", minute=5 * 60 + 30, days=(1, 4), spread=2, kept=0.97),
    Habit(entity_id="media_player.living_room", state="playing", minute=20 * 60 + 5, days=(4, 5)),
)
