"""Records an execution that is accepted before it runs, so that it is not lost if the process dies."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping

from msgspec.structs import replace

from gristmill.errors import Conflict, StoreUnavailable
from gristmill.ledger.audit.audit_entries import ACCEPTED, INSTANCE, AuditRecord
from gristmill.ledger.journal import RunClaim
from gristmill.model import Execution, Json
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.rooms import Rooms

Check = Callable[[RunClaim | None], Awaitable[None]]
"""Raises where an execution must not be run. Takes the last claim of any process on it (None: it was never claimed)."""


async def accept_execution(
    rooms: Rooms, execution: Execution, check: Check | None = None, details: Mapping[str, Json] | None = None
) -> None:
    """Stores what is needed to run ``execution`` later, and records in the audit that it was accepted, with ``details``.

    ``check`` raises where it must not be run; if two processes pass the check at the same time, one of them promises it.

    Raises:
        NotFound: it resumes an execution of which no record is kept.
        Conflict: another process has just promised it.
        StoreUnavailable: it cannot be stored.
    """
    execution, root = await rooms.intake.resolve_resume(execution)
    claim, process = None, rooms.serving_processes.id
    if check is not None:
        claim = await rooms.intake.journal.read_claim(execution.id)
        await check(claim)
    if not await rooms.intake.claim_run(ExecutionState(execution=execution, root=root), claim, process=process):
        raise Conflict(f"another process has just begun this, as {execution.id}; see GET /executions/{execution.id}")
    accepted = AuditRecord(
        kind="execution",
        id=f"{execution.id}/{ACCEPTED}",
        parent=execution.id,
        time=time.time(),
        tenant=execution.identity.tenant,
        session=execution.session,
        caller=execution.identity.caller,
        # Nothing is masked before it runs: the program itself waits in the journal, sealed.
        code_hash=hashlib.sha256(execution.code.encode("utf-8", "surrogatepass")).hexdigest(),
        status=ACCEPTED,
        details={**(details or {}), INSTANCE: process},
    )
    rooms.recorder.audit.record(accepted)
    try:
        await rooms.recorder.audit.flush()
    except StoreUnavailable as error:
        # The record will be written once the store is back: it must not look like a promise that was given and then broken.
        rooms.recorder.audit.record(replace(accepted, id=execution.id, parent=None, status=error.code, details={}))
        raise
