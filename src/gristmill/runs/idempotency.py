"""A key promises one execution and one answer: its outcome, as long as that is kept, or the truth about where it stands.

The records of the audit decide, so that the promise holds over a restart and between processes that share a store.
"""

import hashlib
import time

from msgspec import Struct

from gristmill.errors import Conflict, Interrupted
from gristmill.model import Identity, Outcome
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.audit_values import (
    ACCEPTED,
    BEGUN,
    INSTANCE,
    INTERRUPTED,
    AuditEntry,
    AuditFilter,
    AuditRecord,
    RunClaim,
)

REQUEST = "request"
"""The key, in the details of the record of an accepted execution, of the fingerprint of its request."""
CLAIM_SECONDS = 300.0
"""How long a process may take from claiming an execution until the record of that is stored. An older claim without a record was
made by a process that died in between, before it ran anything. Of a process that is known to have ended no claim counts."""
NOT_RUN_CODES = ("sandbox.unavailable", "store")
"""Beginnings of error codes in records which say that nothing was run: the same key may be used again."""


class AlreadyExecuted(Exception):
    """The same request was executed under its key before; ``outcome`` is the kept answer."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.id)
        self.outcome = outcome


class KeyedRequest(Struct, frozen=True, kw_only=True):
    """A request with a key: the ``id`` of its execution, whose it is, and the ``fingerprint`` of all that it asks for."""

    id: str
    identity: Identity
    fingerprint: str


def make_execution_id(key: str, identity: Identity) -> str:
    """Returns the id of the execution that ``key`` stands for: the same for the same key of the same caller."""
    words = (identity.tenant, identity.caller, key)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def build_reuse_error() -> Conflict:
    """Builds the error for a key that comes with another request than before."""
    return Conflict("this Idempotency-Key was used for another request: use a new one")


async def check_first_use(runtime: Runtime, request: KeyedRequest, claim: RunClaim | None) -> None:
    """Returns if nothing was run for this key, in any process; ``claim`` says who has last claimed its execution, and when.

    Raises:
        AlreadyExecuted: it was, and the outcome is kept.
        Conflict: it runs elsewhere now, was interrupted, was another request, or its outcome is no longer kept.
    """
    accepted, ended = await _find_records(runtime, request)
    if _is_unsettled(accepted, ended, claim):
        await runtime.audit.flush()  # records of this process may not be written yet
        accepted, ended = await _find_records(runtime, request)
    if claim is not None and _is_being_claimed(accepted, claim) and not await runtime.has_ended(claim.process):
        raise Conflict(f"another process has just begun this, as {request.id}; see GET /executions/{request.id}")
    if accepted is not None and (ended is None or ended.seq < accepted.seq):
        raise await _explain_unfinished(runtime, request, accepted)
    if ended is not None and not _was_not_run(ended.record):
        raise await _explain_ended(runtime, request, accepted, ended.record)


def read_instance(promise: AuditEntry) -> str | None:
    """Returns the id of the process that accepted the execution of this record; None if the record does not name it."""
    found = promise.record.details.get(INSTANCE)
    return found if isinstance(found, str) else None


async def _find_records(runtime: Runtime, request: KeyedRequest) -> tuple[AuditEntry | None, AuditEntry | None]:
    # In this order: an execution that ends in between is then seen as ended.
    accepted = await _find_last_record(runtime, request, f"{request.id}/{ACCEPTED}")
    return accepted, await _find_last_record(runtime, request, request.id)


async def _find_last_record(runtime: Runtime, request: KeyedRequest, id_: str) -> AuditEntry | None:
    wanted = AuditFilter(kind="execution", id=id_, owner=request.identity)
    return next(iter(await runtime.audit.list(wanted, limit=1)), None)


def _is_unsettled(accepted: AuditEntry | None, ended: AuditEntry | None, claim: RunClaim | None) -> bool:
    is_open = accepted is not None and (ended is None or ended.seq < accepted.seq)
    return is_open or _is_being_claimed(accepted, claim)


def _is_being_claimed(accepted: AuditEntry | None, claim: RunClaim | None) -> bool:
    """Whether a process has claimed the execution, and the record of that is still to come. Both times are of that process."""
    if claim is None or (accepted is not None and accepted.record.time >= claim.time):
        return False
    return time.time() - claim.time < CLAIM_SECONDS


async def _explain_unfinished(runtime: Runtime, request: KeyedRequest, accepted: AuditEntry) -> Conflict:
    if accepted.record.details.get(REQUEST) not in (None, request.fingerprint):
        return build_reuse_error()
    if await runtime.lives_elsewhere(read_instance(accepted)):
        return Conflict(f"this is still running in another process, as {request.id}; see GET /executions/{request.id}")
    return _build_interrupted_error(request)


async def _explain_ended(
    runtime: Runtime, request: KeyedRequest, accepted: AuditEntry | None, ended: AuditRecord
) -> AlreadyExecuted | Conflict:
    before = accepted.record.details.get(REQUEST) if accepted is not None else None
    if before not in (None, request.fingerprint):
        return build_reuse_error()
    # Records of version 0.1.0 do not say what the request was: its outcome is not given to one that may be another.
    outcome = await runtime.outcome(request.id, identity=request.identity) if before is not None else None
    if outcome is not None:
        return AlreadyExecuted(outcome)
    if ended.status == INTERRUPTED or ended.details.get(BEGUN):
        return _build_interrupted_error(request)
    return Conflict(
        f"this was executed already, as {request.id} ({ended.status}), and is not executed again; its outcome is not kept; "
        f"see GET /executions/{request.id}"
    )


def _build_interrupted_error(request: KeyedRequest) -> Interrupted:
    text = f"this was begun already, as {request.id}, and interrupted; send `resume` with that id to continue it"
    return Interrupted(text, execution=request.id)


def _was_not_run(record: AuditRecord) -> bool:
    return (record.status or "").startswith(NOT_RUN_CODES) and not record.details.get(BEGUN)
