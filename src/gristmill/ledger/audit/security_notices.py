"""Definitions that have changed or look suspicious become security records, each once in the life of a gateway."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gristmill.events import DefinitionChanged, DefinitionFlagged, Event
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.model import Json

MOST = 10_000
"""Different findings that are put on record; more of them say nothing new."""


@dataclass(slots=True)
class Notices:
    """Hears events; what comes before there is somewhere to record waits."""

    clock: Callable[[], float]
    _record: Callable[[AuditRecord], None] | None = None
    _waiting: list[AuditRecord] = field(default_factory=list[AuditRecord])
    _seen: set[Event] = field(default_factory=set[Event])

    def __call__(self, event: Event) -> None:
        """Take note of an event, if it is one of these."""
        if not isinstance(event, (DefinitionChanged, DefinitionFlagged)) or event in self._seen or len(self._seen) >= MOST:
            return
        self._seen.add(event)
        record = _record_of(event, self.clock())
        if self._record is None:
            self._waiting.append(record)
        else:
            self._record(record)

    def open(self, record: Callable[[AuditRecord], None]) -> None:
        """From now on there is somewhere to record."""
        self._record = record
        for each in self._waiting:
            record(each)
        self._waiting.clear()


def _record_of(event: DefinitionChanged | DefinitionFlagged, at: float) -> AuditRecord:
    if isinstance(event, DefinitionChanged):
        rule, details = "definition.changed", dict[str, Json](places=[*event.places])
    else:
        rule, details = f"definition.{event.rule}", dict[str, Json](place=event.place, shown=event.shown)
    return AuditRecord(kind="security", id=f"{event.tool}/{rule}", time=at, tool=event.tool, rule=rule, details=details)
