"""The forms of Home Assistant's automations (2024.10 and later: triggers, conditions, actions).

They are our own reduction: the kinds that a wish about a house needs. Home Assistant's own schema is voluptuous code inside a
package of several hundred megabytes; it is not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

import jsonschema_rs

SERVICES = {
    ("light", "on"): "light.turn_on",
    ("light", "off"): "light.turn_off",
    ("switch", "on"): "switch.turn_on",
    ("switch", "off"): "switch.turn_off",
    ("lock", "locked"): "lock.lock",
    ("lock", "unlocked"): "lock.unlock",
    ("cover", "open"): "cover.open_cover",
    ("cover", "closed"): "cover.close_cover",
    ("media_player", "playing"): "media_player.media_play",
    ("media_player", "paused"): "media_player.media_pause",
    ("climate", "heat"): "climate.set_hvac_mode",
    ("climate", "off"): "climate.set_hvac_mode",
}

SUN = "sun.sun"
ALWAYS = {SUN: ("above_horizon", "below_horizon")}
"""Entities that every Home Assistant has."""
MOST = 50
"""Triggers, conditions, actions, entities of one item."""
DEEPEST = 3
"""Conditions in conditions."""

_ENTITY = {"type": "string", "pattern": r"^[a-z_]+\.[a-z0-9_]+$"}
_ENTITIES = {"anyOf": [_ENTITY, {"type": "array", "minItems": 1, "maxItems": MOST, "items": _ENTITY}]}
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "maxItems": MOST, "items": {"type": "string"}}]}
_CLOCK = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"}
_OFFSET = {"type": "string", "pattern": "^[+-]?[0-9]{2}:[0-5][0-9]:[0-5][0-9]$"}
_SUNS = {"enum": ["sunrise", "sunset"]}
_NUMBER = {"type": "number"}
_DAYS = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": "mon tue wed thu fri sat sun".split()}}


def _form(required: str, **fields: Any) -> dict[str, Any]:
    properties = {"id": {"type": "string"}, "alias": {"type": "string"}, **fields}
    return {"type": "object", "required": required.split(), "additionalProperties": False, "properties": properties}


_KIND = {"type": "string"}
TRIGGERS = {
    "state": _form("entity_id", trigger=_KIND, entity_id=_ENTITIES, to=_TEXTS, **{"from": _TEXTS, "for": _CLOCK}),
    "numeric_state": _form("entity_id", trigger=_KIND, entity_id=_ENTITIES, above=_NUMBER, below=_NUMBER, **{"for": _CLOCK}),
    "sun": _form("event", trigger=_KIND, event=_SUNS, offset=_OFFSET),
    "time": _form("at", trigger=_KIND, at=_CLOCK),
}
_GROUP = _form("conditions", condition=_KIND, conditions={"type": "array", "minItems": 1, "maxItems": MOST})
CONDITIONS = {
    "state": _form("entity_id state", condition=_KIND, entity_id=_ENTITIES, state=_TEXTS, **{"for": _CLOCK}),
    "numeric_state": _form("entity_id", condition=_KIND, entity_id=_ENTITIES, above=_NUMBER, below=_NUMBER),
    "sun": _form("", condition=_KIND, after=_SUNS, before=_SUNS, after_offset=_OFFSET, before_offset=_OFFSET),
    "time": _form("", condition=_KIND, after=_CLOCK, before=_CLOCK, weekday=_DAYS),
    "and": _GROUP,
    "or": _GROUP,
    "not": _GROUP,
}
_TARGET = _form("entity_id", entity_id=_ENTITIES)
ACTION = _form(
    "action target",
    action={"enum": sorted(set(SERVICES.values()))},
    target=_TARGET,
    data={"type": "object", "maxProperties": 20},
)
DELAY = _form("delay", delay=_CLOCK)
_LIST = {"type": "array", "maxItems": MOST, "items": {"type": "object"}}
AUTOMATION = _form(
    "alias triggers actions",
    alias={"type": "string", "minLength": 1, "maxLength": 200},
    description={"type": "string", "maxLength": 2_000},
    mode={"enum": ["single", "restart", "queued", "parallel"]},
    triggers={**_LIST, "minItems": 1},
    conditions=_LIST,
    actions={**_LIST, "minItems": 1},
)


def check_forms(described: Any) -> None:
    """Whether ``described`` has the form of an automation.

    Raises:
        ValueError: it has not; says where, and which keys there are.
    """
    _check("the automation", described, AUTOMATION)
    for place, trigger in enumerate(described["triggers"]):
        _check_kind(f"triggers[{place}]", trigger, "trigger", TRIGGERS)
    for place, condition in _list_conditions(described.get("conditions", []), "conditions", 1):
        _check_kind(place, condition, "condition", CONDITIONS)
    for place, action in enumerate(described["actions"]):
        _check(f"actions[{place}]", action, DELAY if "delay" in action else ACTION)
        if action.get("action") == "climate.set_hvac_mode" and "hvac_mode" not in action.get("data", {}):
            raise ValueError(f"this is no automation: actions[{place}] needs data: {{hvac_mode: heat}}")


def check_devices(described: Mapping[str, Any], states: Mapping[str, Sequence[str]]) -> None:
    """Whether the house has every entity of an automation, whether it can be in that state, and do that.

    ``states`` are the states that each entity of the house can be in; none where they are open, as for sensors.

    Raises:
        ValueError: it has not; names what comes closest.
    """
    known = {**ALWAYS, **states}
    for place, trigger in enumerate(described["triggers"]):
        _check_states(f"triggers[{place}]", trigger, ("to", "from"), known)
    for place, condition in _list_conditions(described.get("conditions", []), "conditions", 1):
        _check_states(place, condition, ("state",), known)
    for number, action in enumerate(described["actions"]):
        for entity in _texts(action.get("target", {}).get("entity_id", [])):
            _check_known(f"actions[{number}]", entity, known)
            if entity.partition(".")[0] != action["action"].partition(".")[0]:
                able = sorted({service for (owner, _), service in SERVICES.items() if owner == entity.partition(".")[0]})
                raise ValueError(
                    f"actions[{number}]: {entity} cannot do {action['action']}; it can do {', '.join(able) or 'nothing'}"
                )


def _check_states(place: str, item: Mapping[str, Any], names: Sequence[str], known: Mapping[str, Sequence[str]]) -> None:
    for entity in _texts(item.get("entity_id", [])):
        _check_known(place, entity, known)
        able = (*known[entity], "unavailable", "unknown")
        for state in (state for name in names for state in _texts(item.get(name, []))):
            if known[entity] and state not in able:
                raise ValueError(f"{place}: {entity} is never {state!r}; it is one of {', '.join(known[entity])}")


def _check_known(place: str, entity: str, known: Mapping[str, Any]) -> None:
    if entity not in known:
        near = get_close_matches(entity, known, 3, 0.5)
        raise ValueError(f"{place}: the house has no {entity}" + (f"; it has {', '.join(near)}" if near else ""))


def _list_conditions(conditions: Any, place: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if depth > DEEPEST:
        raise ValueError(f"this is no automation: {place} is nested more than {DEEPEST} deep")
    for number, condition in enumerate(conditions):
        yield f"{place}[{number}]", condition
        yield from _list_conditions(condition.get("conditions", []), f"{place}[{number}].conditions", depth + 1)


def _check_kind(place: str, item: Any, key: str, forms: Mapping[str, dict[str, Any]]) -> None:
    kind = item.get(key) if isinstance(item, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - YAML of a stranger
    if not isinstance(kind, str) or kind not in forms:
        raise ValueError(f"this is no automation: {place} needs {key!r}, one of {', '.join(forms)}")
    _check(place, item, forms[kind])


def _check(place: str, item: Any, form: dict[str, Any]) -> None:
    try:
        jsonschema_rs.validate(form, item)
    except jsonschema_rs.ValidationError as error:
        keys = ", ".join(key for key in form["properties"] if key != "id")
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
        raise ValueError(f"this is no automation: {place}{where}: {error.message[:300]} (its keys: {keys})") from None


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else cast("list[str]", value)
