"""Where an execution is taken in: is it new or the continuation of another, what was decided, which masks belong to it."""

from collections.abc import Awaitable, Callable
from dataclasses import field, replace

from gristmill.errors import Refused
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.approvals import Approvals
from gristmill.guard.policy.policy import Policy
from gristmill.ledger.journal import Journal, RunRecord, nothing_kept
from gristmill.model import Execution, Plan, Report
from gristmill.runtime.execution.execution_state import CallKey, Recorded, Run
from gristmill.runtime.execution.session_redactors import Redactors
from gristmill.session.session_register import Sessions
from gristmill.store.base import Store
from gristmill.values import dataclass

HANDLES = 100_000
"""Sessions whose handle is remembered; interpreters are kept for far fewer."""
STOPPED = 500
"""Characters of why a plan stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Takes executions in and puts their questions into the inbox."""

    store: Store
    journal: Journal
    approvals: Approvals
    redactors: Redactors
    policy: Policy
    sessions: Sessions
    ended: Callable[[str], Awaitable[None]]
    """Drops what is kept of a session here."""
    _handles: dict[str, str] = field(default_factory=dict[str, str])

    async def take_in(self, execution: Execution) -> Run:
        """The run that ``execution`` begins or takes up again.

        Raises:
            NotFound: it is to resume something of which nothing is kept, or another caller's.
            Refused: it is to resume what belongs to another session, or names another caller's session.
        """
        execution, root = await self.revive(execution)
        space = await self._space(execution)
        redactor = await self._redactor(space, execution, root)
        run = Run(execution=execution, root=root, space=space, dry_run=self.policy.dry_run, redactor=redactor)
        return await self.again(run) if root != execution.id else run

    async def revive(self, execution: Execution) -> tuple[Execution, str]:
        """``execution`` with what it takes over from the one that it resumes, if any, and the first of their chain.

        Raises:
            NotFound: nothing is kept of that one, or it is another caller's; a stranger cannot tell which.
            Refused: it belongs to another session.
        """
        if execution.resume is None:
            return execution, execution.id
        await self.store.flush()
        return self._revived(execution, await self.journal.find(execution.resume))

    async def again(self, run: Run) -> Run:
        """The same run for another pass: with everything that was called and decided meanwhile."""
        await self.store.flush()
        entries = await self.journal.load(run.root)
        recorded = {
            CallKey(entry.hash, entry.occurrence): Recorded(
                tool=entry.tool, state=entry.state, value=entry.value, attempt=entry.attempt
            )
            for entry in entries
        }
        execution = run.execution
        grants = await self.approvals.grants(
            run.root, session=execution.session, caller=execution.caller, tenant=execution.tenant
        )
        return run.again(recorded, grants)

    async def ask(self, run: Run, report: Report) -> Plan:
        """Put what waits into the inbox; the run can be resumed from there by anybody who knows its id.

        Raises:
            Busy: people were asked enough by this caller; the run can be resumed later all the same.
        """
        execution = run.execution
        await self.keep(run, "awaiting_approval")
        await self.store.flush()
        return await self.approvals.open(
            run.planned, root=run.root, execution=execution.id, session=execution.session, caller=execution.caller,
            tenant=execution.tenant, seconds=self.policy.approval_seconds, stopped=_stopped(run, report),
            patience=self.policy.patience,
        )  # fmt: skip

    def dry_plan(self, run: Run, report: Report) -> Plan | None:
        """What a dry run would have done; nobody is asked about it."""
        if not run.planned:
            return None
        return Plan(id="", execution=run.execution.id, calls=tuple(run.planned), expires=0.0, stopped=_stopped(run, report))

    def note(self, run: Run, status: str) -> None:
        """Keep what is needed to take this run up again."""
        self.journal.began(_record(run, status))

    async def keep(self, run: Run, status: str) -> None:
        """As ``note``; when this returns it is kept.

        Raises:
            StoreUnavailable: it is not.
        """
        await self.journal.keep(_record(run, status))

    async def claim(self, run: Run, status: str, created: float | None) -> bool:
        """As ``keep``, unless somebody else has noted it since it was ``created``.

        Raises:
            StoreUnavailable: it is not kept.
        """
        return await self.journal.claim(_record(run, status), created)

    def _revived(self, execution: Execution, before: RunRecord) -> tuple[Execution, str]:
        if (before.tenant, before.caller) != (execution.tenant, execution.caller):
            raise nothing_kept(before.id)
        if execution.session not in (None, before.session):
            raise Refused(f"execution {before.id} belongs to another session", rule="resume.owner")
        code, context = execution.code or before.code, execution.context or before.context
        return replace(execution, session=before.session, code=code, context=context), before.root

    async def _space(self, execution: Execution) -> str | None:
        if execution.session is None:
            return None
        session = await self.sessions.open(execution.session, execution.tenant, execution.caller)
        if self._handles.setdefault(session.key, session.handle) != session.handle:
            # Deleted or expired meanwhile, maybe in another process: nothing of it may live on under its name.
            await self.ended(session.key)
            self._handles[session.key] = session.handle
        if len(self._handles) > HANDLES:
            self._handles.pop(next(iter(self._handles)))
        return session.key

    async def _redactor(self, space: str | None, execution: Execution, root: str) -> Redactor:
        scope = f"session {space}" if space is not None else f"run {root}"
        return await self.redactors.of(scope, is_new=space is None and root == execution.id)


def _record(run: Run, status: str) -> RunRecord:
    execution = run.execution
    return RunRecord(
        id=execution.id, root=run.root, session=execution.session, caller=execution.caller, tenant=execution.tenant,
        code=execution.code, status=status, context=execution.context,
    )  # fmt: skip


def _stopped(run: Run, report: Report) -> str | None:
    """Why the plan ends before the program does."""
    if report.status == "ok":
        return None
    lines = (report.error or report.limit or report.status).strip().splitlines() or [report.status]
    return str(run.show(lines[-1]))[:STOPPED]
