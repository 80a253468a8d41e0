"""Home Assistant automations as YAML, checked before they leave.

The schema is our own reduction of Home Assistant's automation format (2024.10 and later: triggers, conditions, actions) to what
is written here. Home Assistant's own is voluptuous code inside a package of several hundred megabytes; it is not used.
"""

from typing import Any

import jsonschema_rs
import yaml

from examples.homeiq.rows import Automation

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

_ENTITY = {"type": "string", "pattern": r"^[a-z_]+\.[a-z0-9_]+$"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["alias", "triggers", "actions"],
    "additionalProperties": False,
    "properties": {
        "alias": {"type": "string", "minLength": 1},
        "description": {"type": "string"},
        "mode": {"enum": ["single", "restart", "queued", "parallel"]},
        "triggers": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["trigger", "at"],
                "additionalProperties": False,
                "properties": {
                    "trigger": {"const": "time"},
                    "at": {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"},
                },
            },
        },
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["condition", "weekday"],
                "additionalProperties": False,
                "properties": {
                    "condition": {"const": "time"},
                    "weekday": {
                        "type": "array",
                        "minItems": 1,
                        "uniqueItems": True,
                        "items": {"enum": "mon tue wed thu fri sat sun".split()},
                    },
                },
            },
        },
        "actions": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["action", "target"],
                "additionalProperties": False,
                "properties": {
                    "action": {"enum": sorted(set(SERVICES.values()))},
                    "target": {"type": "object", "required": ["entity_id"], "properties": {"entity_id": _ENTITY}},
                    "data": {"type": "object"},
                },
            },
        },
    },
}


def check(text: str) -> None:
    """Whether ``text`` is an automation.

    Raises:
        ValueError: it is none; says where.
    """
    try:
        jsonschema_rs.validate(SCHEMA, yaml.safe_load(text))
    except (jsonschema_rs.ValidationError, yaml.YAMLError) as error:
        raise ValueError(f"this is no automation: {str(error).splitlines()[0]}") from None


def write(entity_id: str, state: str, time: str, weekdays: list[str], alias: str | None) -> Automation:
    """The automation that brings ``entity_id`` into ``state``.

    Raises:
        ValueError: there is none.
    """
    service = SERVICES.get((entity_id.partition(".")[0], state))
    if service is None:
        raise ValueError(f"{entity_id} cannot be brought into the state {state!r}")
    action: dict[str, Any] = {"action": service, "target": {"entity_id": entity_id}}
    if service == "climate.set_hvac_mode":
        action["data"] = {"hvac_mode": state}
    name = alias or f"{entity_id.partition('.')[2].replace('_', ' ').capitalize()} {state} at {time}"
    described: dict[str, Any] = {
        "alias": name,
        "triggers": [{"trigger": "time", "at": f"{time}:00"}],
        "conditions": [{"condition": "time", "weekday": weekdays}] if len(set(weekdays)) < 7 else [],
        "actions": [action],
        "mode": "single",
    }
    text = yaml.safe_dump(described, sort_keys=False, allow_unicode=True)
    check(text)
    return {"alias": name, "yaml": text}
