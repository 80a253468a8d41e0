"""Turns events about changed or suspicious definitions into security records, each once in the life of a gateway."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gristmill.events import DefinitionChanged, DefinitionFlagged, Event
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.model import Json

MOST_FINDINGS = 10_000
"""Most different findings that are recorded; more of them say nothing new."""


@dataclass(slots=True)
class SecurityNotices:
    """Listens to events; records made before there is an audit to write them to wait in memory."""

    clock: Callable[[], float]
    _record: Callable[[AuditRecord], None] | None = None
    _waiting: list[AuditRecord] = field(default_factory=list[AuditRecord])
    _seen: set[Event] = field(default_factory=set[Event])

    def __call__(self, event: Event) -> None:
        """Records an event if it is about a changed or suspicious definition."""
        if (
            not isinstance(event, (DefinitionChanged, DefinitionFlagged))
            or event in self._seen
            or len(self._seen) >= MOST_FINDINGS
        ):
            return
        self._seen.add(event)
        record = _build_record(event, self.clock())
        if self._record is None:
            self._waiting.append(record)
        else:
            self._record(record)

    def start_recording(self, record: Callable[[AuditRecord], None]) -> None:
        """Starts to record with ``record``, beginning with the records that waited."""
        self._record = record
        for each in self._waiting:
            record(each)
        self._waiting.clear()


def _build_record(event: DefinitionChanged | DefinitionFlagged, at: float) -> AuditRecord:
    if isinstance(event, DefinitionChanged):
        rule, details = "definition.changed", dict[str, Json](places=[*event.places])
    else:
        rule, details = f"definition.{event.rule}", dict[str, Json](place=event.place, shown=event.shown)
    return AuditRecord(kind="security", id=f"{event.tool}/{rule}", time=at, tool=event.tool, rule=rule, details=details)
