"""Takes an execution in: whether it is new or resumes another, what was decided about it, and which masks belong to it."""

from collections.abc import Mapping
from dataclasses import replace as replace_plan

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.errors import Conflict, Refused
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.approvals import Approvals
from gristmill.guard.policy.policy import Policy
from gristmill.ledger.journal import Journal, RunClaim, RunRecord, build_not_kept_error
from gristmill.model import Execution, Json, Plan, Report
from gristmill.runtime.execution.execution_state import REVERT, CallKey, ExecutionState, RecordedCall
from gristmill.runtime.execution.session_redactors import SessionRedactors, name_session_scope
from gristmill.session.session_register import SessionRegister
from gristmill.store.base import Store

STOPPED_CHARACTERS = 500
"""Most characters of the reason why a plan stopped."""


class PublicAddress(Struct):
    """Where people reach the pages of this gateway, such as ``http://127.0.0.1:8030``; None while nothing serves them."""

    url: str | None = None

    def build_plan_url(self, approval: str) -> str | None:
        """Returns the address of the page of a plan."""
        return None if self.url is None else f"{self.url.rstrip('/')}/dashboard/#/approvals/{approval}"


class Intake(Struct, frozen=True, kw_only=True):
    """Takes executions in, and puts their questions into the inbox."""

    store: Store
    journal: Journal
    approvals: Approvals
    redactors: SessionRedactors
    policy: Policy
    sessions: SessionRegister
    contexts: Mapping[str, Mapping[str, Json]] = field(default_factory=dict[str, Mapping[str, Json]])
    """Values of `context` that belong to a caller, by its name; no request can choose others."""
    address: PublicAddress = field(default_factory=PublicAddress)

    async def begin_run(self, execution: Execution) -> ExecutionState:
        """Returns the run that ``execution`` begins or resumes.

        Raises:
            NotFound: it resumes an execution of which no record is kept, or another caller's.
            Refused: it resumes an execution of another session, or names another caller's session.
            Conflict: it resumes an execution that was recorded without its context, and does not bring the code.
        """
        execution, root = await self.resolve_resume(execution)
        execution = self._bind_context(execution)
        space = await self._open_space(execution)
        redactor = await self._load_redactor(space, execution, root)
        run = ExecutionState(execution=execution, root=root, space=space, dry_run=self.policy.dry_run, redactor=redactor)
        return await self.prepare_next_pass(run) if root != execution.id else run

    async def resolve_resume(self, execution: Execution) -> tuple[Execution, str]:
        """Returns ``execution`` with what it takes over from the execution that it resumes, if any, and the root of their chain.

        Raises:
            NotFound: no record of the resumed execution is kept, or it is another caller's; a stranger cannot tell which.
            Refused: the resumed execution belongs to another session.
            Conflict: an early version recorded it without its context, and ``execution`` does not bring the code; or what it
                wrote was undone.
        """
        if execution.resume is None:
            return execution, execution.id
        await self.store.flush()
        before = await self.journal.find_run(execution.resume)
        if await self.journal.has_writes(REVERT + before.root) and before.owner == execution.identity:
            raise Conflict(f"execution {before.id} was undone: resuming it would rely on writes that are gone; send the code")
        merged = self._merge_resumed(execution, before)
        if before.lacks_context and not execution.code:
            raise await self.journal.build_no_context_error(before)
        return merged

    async def prepare_next_pass(self, run: ExecutionState) -> ExecutionState:
        """Returns the run for another pass, with everything that was called and decided in the meantime."""
        await self.store.flush()
        entries = await self.journal.load_calls(run.root)
        recorded = {
            CallKey(entry.hash, entry.occurrence): RecordedCall(
                tool=entry.tool, state=entry.state, value=entry.value, attempt=entry.attempt
            )
            for entry in entries
        }
        execution = run.execution
        grants = await self.approvals.grants(run.root, session=execution.session, identity=execution.identity)
        return run.make_next_pass(recorded, grants)

    async def ask_approval(self, run: ExecutionState, report: Report) -> Plan:
        """Puts the waiting calls into the inbox; its caller can resume the run from there by its id.

        Raises:
            Busy: this caller has asked too many questions for now; the run can be resumed later all the same.
        """
        execution = run.execution
        await self.store_run(run, "awaiting_approval")
        await self.store.flush()
        plan = await self.approvals.submit_plan(
            run.planned, root=run.root, execution=execution.id, session=execution.session, identity=execution.identity,
            seconds=self.policy.approval_seconds, stopped=_explain_stop(run, report),
            patience=self.policy.approval_limits, space=run.space,
        )  # fmt: skip
        return replace_plan(plan, url=self.address.build_plan_url(plan.id))

    def build_dry_plan(self, run: ExecutionState, report: Report) -> Plan | None:
        """Returns the plan of what a dry run would have done; it needs no approval."""
        if not run.planned:
            return None
        return Plan(id="", execution=run.execution.id, calls=tuple(run.planned), expires=0.0, stopped=_explain_stop(run, report))

    def note_run(self, run: ExecutionState, status: str) -> None:
        """Stores what is needed to resume this run, without waiting for the store."""
        self.journal.note_run(_build_run_record(run, status))

    async def store_run(self, run: ExecutionState, status: str) -> None:
        """Stores what is needed to resume this run; when this returns, it is in the store.

        Raises:
            StoreUnavailable: it could not be stored.
        """
        await self.journal.store_run(_build_run_record(run, status))

    async def claim_run(self, run: ExecutionState, before: RunClaim | None, *, process: str) -> bool:
        """Stores what is needed to resume this run, unless another process has done so since ``before``; returns whether it did.

        Raises:
            StoreUnavailable: it could not be stored.
        """
        return await self.journal.claim_run(_build_run_record(run, "claimed"), before, process=process)

    def _bind_context(self, execution: Execution) -> Execution:
        bound = self.contexts.get(execution.identity.caller)
        return replace(execution, context={**execution.context, **bound}) if bound else execution

    def _merge_resumed(self, execution: Execution, before: RunRecord) -> tuple[Execution, str]:
        if before.owner != execution.identity:
            raise build_not_kept_error(before.id)
        if execution.session not in (None, before.session):
            raise Refused(f"execution {before.id} belongs to another session", rule="resume.owner")
        code, context = execution.code or before.code, execution.context or before.context
        language = execution.language or (None if execution.code else before.language)
        return replace(execution, session=before.session, code=code, context=context, language=language), before.root

    async def _open_space(self, execution: Execution) -> str | None:
        if execution.session is None:
            return None
        # The key names the generation: nothing of an earlier session of that name, ended maybe elsewhere, is found under it.
        return (await self.sessions.open(execution.session, identity=execution.identity)).key

    async def _load_redactor(self, space: str | None, execution: Execution, root: str) -> Redactor:
        # A run that undoes another one uses the masks of that one.
        scope = name_session_scope(space) if space is not None else f"run {root.removeprefix(REVERT)}"
        return await self.redactors.get_redactor(scope, is_new=space is None and root == execution.id)


def _build_run_record(run: ExecutionState, status: str) -> RunRecord:
    execution = run.execution
    return RunRecord(
        id=execution.id, root=run.root, session=execution.session, owner=execution.identity, code=execution.code,
        status=status, context=execution.context, language=execution.language,
    )  # fmt: skip


def _explain_stop(run: ExecutionState, report: Report) -> str | None:
    """Returns why the plan ends before the program does, or None if it does not."""
    if report.status == "ok":
        return None
    lines = (report.error or report.limit or report.status).strip().splitlines() or [report.status]
    # An error in TypeScript has its places below its message, one in Python above it.
    told = next((line for line in reversed(lines) if not line.startswith("    at ")), lines[-1])
    return str(run.mask_value(told))[:STOPPED_CHARACTERS]
