"""``python -m examples.homeiq.devices``: what a device can do."""

from examples.homeiq.house import MODELS
from examples.homeiq.rows import Capabilities, DeviceRow
from examples.homeiq.seed import STATES
from examples.homeiq.starting import start
from examples.homeiq.writing import SERVICES
from examples.records import Records
from examples.serving import reads

PORT = 8028


class Devices:
    """Tools about what devices are able to do."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def get_device_capabilities(self, entity_id: str) -> Capabilities:
        """Model, possible states, services and unit of one device, and whether it can be controlled at all."""
        device = self._records.one(
            DeviceRow, "SELECT entity_id, name, domain, area, unit FROM devices WHERE entity_id = :entity", entity=entity_id
        )
        domain = device["domain"]
        services = sorted({service for (owner, _), service in SERVICES.items() if owner == domain})
        return {
            "entity_id": entity_id,
            "domain": domain,
            "model": MODELS[domain],
            "states": list(STATES.get(domain, ())),
            "services": services,
            "unit": device["unit"],
            "is_controllable": bool(services),
        }


if __name__ == "__main__":
    start("homeiq-devices", "HomeIQ: device intelligence", PORT, lambda records: Devices(records()))
