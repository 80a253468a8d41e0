"""An execution that was accepted before it ran: on record, so that it is not lost with the process."""

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from gristmill.errors import Conflict, StoreUnavailable
from gristmill.ledger.audit.audit_entries import ACCEPTED, INSTANCE, AuditRecord
from gristmill.model import Execution
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.rooms import Rooms

Check = Callable[[], Awaitable[None]]


async def promise(rooms: Rooms, execution: Execution, check: Check | None = None) -> None:
    """Keep what is needed to run ``execution`` later, and say in the audit that it was accepted.

    ``check`` raises where it must not be run; of two processes that find nothing against it, one promises it.

    Raises:
        NotFound: it is to resume something of which nothing is kept.
        Conflict: another process has just promised it.
        StoreUnavailable: it cannot be kept.
    """
    execution, root = await rooms.desk.revive(execution)
    created = None
    if check is not None:
        created = await rooms.desk.journal.created(execution.id)
        await check()
    if not await rooms.desk.claim(Run(execution=execution, root=root), ACCEPTED, created):
        raise Conflict(f"another process has just begun this, as {execution.id}; see GET /executions/{execution.id}")
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
        await rooms.recorder.audit.flush()
    except StoreUnavailable as error:
        # The record is written once the store is back: it must not look like a promise that was given, and broken.
        rooms.recorder.audit.record(replace(accepted, id=execution.id, parent=None, status=error.code, details={}))
        raise
