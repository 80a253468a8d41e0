"""Home Assistant automations as YAML, checked before they leave."""

from collections.abc import Mapping
from typing import Any

import yaml

from examples.homeiq.forms import SERVICES, check_forms
from examples.homeiq.rows import Automation


def check(text: str) -> None:
    """Whether ``text`` is an automation.

    Raises:
        ValueError: it is none; says where.
    """
    try:
        described = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"this is no automation: {str(error).splitlines()[0]}") from None
    check_forms(described)


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
    return write_checked(described)


def write_checked(described: Mapping[str, Any]) -> Automation:
    """The YAML of what is an automation.

    Raises:
        ValueError: it is none; says where.
    """
    check_forms(described)
    return {"alias": described["alias"], "yaml": yaml.safe_dump(dict(described), sort_keys=False, allow_unicode=True)}
