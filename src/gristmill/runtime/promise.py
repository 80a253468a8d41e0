"""An execution that was accepted before it ran: on record, so that it is not lost with the process."""

import hashlib
import time
from dataclasses import replace

from gristmill.errors import StoreUnavailable
from gristmill.ledger.entries import ACCEPTED, INSTANCE, AuditRecord
from gristmill.model import Execution
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.run import Run


async def promise(rooms: Rooms, execution: Execution) -> None:
    """Keep what is needed to run ``execution`` later, and say in the audit that it was accepted.

    Raises:
        NotFound: it is to resume something of which nothing is kept.
        StoreUnavailable: it cannot be kept.
    """
    execution, root = await rooms.desk.revive(execution)
    accepted = AuditRecord(
        kind="execution",
        id=f"{execution.id}/{ACCEPTED}",
        parent=execution.id,
        time=time.time(),
        tenant=execution.tenant,
        session=execution.session,
        caller=execution.caller,
        # Nothing is masked before it runs: the program itself waits, sealed, in the journal.
        code_hash=hashlib.sha256(execution.code.encode("utf-8", "surrogatepass")).hexdigest(),
        status=ACCEPTED,
        details={INSTANCE: rooms.instances.id},
    )
    rooms.recorder.audit.record(accepted)
    try:
        await rooms.desk.keep(Run(execution=execution, root=root), ACCEPTED)
        await rooms.recorder.audit.flush()
    except StoreUnavailable as error:
        # The record is written once the store is back: it must not look like a promise that was given, and broken.
        rooms.recorder.audit.record(replace(accepted, id=execution.id, parent=None, status=error.code, details={}))
        raise
