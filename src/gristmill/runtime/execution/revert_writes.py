"""Says what a run wrote before it failed, and prepares the run that undoes it: a plan of its own, which a person decides."""

from collections.abc import Sequence

from msgspec import Struct

from gristmill.config.sections.servers_section import RESERVED_NAMES
from gristmill.errors import Conflict, NotFound
from gristmill.guard.mask.json_leaves import JsonLeaves
from gristmill.guard.mask.placeholders import EXACT_PLACEHOLDER
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.policy import Policy
from gristmill.guard.policy.undo_calls import CannotUndo
from gristmill.ledger.journal import JournalEntry, RunRecord, build_not_kept_error
from gristmill.model import Identity, Json, Report, WritesMade
from gristmill.runtime.execution.execution_state import REVERT, ExecutionState
from gristmill.runtime.execution.intake import Intake
from gristmill.runtime.execution.session_redactors import name_session_scope

MOST_UNDONE = 500
"""Most writes that one run can undo: its plan is read by a person."""
MOST_TOOLS = 50
"""Most tools whose writes an outcome lists."""
_DONE_OR_WAITING = frozenset({"ok", "awaiting_approval"})


class KeptWrite(Struct, frozen=True, kw_only=True):
    """A write that is not undone, and why."""

    tool: str
    reason: str


class Revert(Struct, frozen=True, kw_only=True):
    """How an execution is undone: resume ``id`` with ``code``. ``kept`` are its writes that stay, at most ``MOST_UNDONE``."""

    id: str
    execution: str
    code: str
    calls: int
    kept: tuple[KeptWrite, ...] = ()


def list_writes(run: ExecutionState, report: Report, policy: Policy) -> tuple[tuple[WritesMade, ...], tuple[str, ...]]:
    """Returns what a run that did not succeed has written, and advice if something of it can be undone."""
    if not run.writes or report.status in _DONE_OR_WAITING:
        return (), ()
    found: list[WritesMade] = []
    for tool, counted in run.writes.items():
        if (counted.made or counted.unknown) and tool.partition(".")[0] not in RESERVED_NAMES and len(found) < MOST_TOOLS:
            undo = None if run.is_revert else policy.find_undo(tool)
            found.append(WritesMade(tool=tool, made=counted.made, unknown=counted.unknown, undo=undo.text if undo else None))
    undoable = sum(each.made for each in found if each.undo)
    advice = f"{undoable} of its writes can be undone after a person agrees: `gristmill revert {run.execution.id}`"
    return tuple(found), (advice,) if undoable else ()


async def prepare_revert(intake: Intake, execution: str, *, identity: Identity) -> Revert:
    """Builds and records the run that undoes what ``execution``, and those that it resumed, wrote: the last write first.

    Doing so again gives the same run: what it has undone already is answered from its journal.

    Raises:
        NotFound: no record of the execution is kept, or it is another caller's.
        Conflict: it undid another one, it wrote nothing that can be undone, or too much.
    """
    await intake.store.flush()
    before = await intake.journal.find_run(execution)
    if before.owner != identity:
        raise build_not_kept_error(execution)
    if before.root.startswith(REVERT):
        raise Conflict(f"execution {before.id} undid what another one wrote, and cannot be undone itself")
    entries = [
        entry
        for entry in await intake.journal.load_writes(before.root)
        if entry.tool.partition(".")[0] not in RESERVED_NAMES and entry.state != "failed"
    ]
    lines, kept = _write_calls(entries, intake.policy, await _find_redactor(intake, before))
    if len(lines) > MOST_UNDONE:
        raise Conflict(f"execution {before.id} made {len(lines)} writes that can be undone; at most {MOST_UNDONE} are undone")
    if not lines:
        raise Conflict(f"nothing that execution {before.id} wrote can be undone: {_explain_kept(kept)}")
    code = "\n".join(("from mcp_client import call_mcp_tool", *lines))
    revert = RunRecord(
        id=REVERT + before.root, root=REVERT + before.root, session=before.session, code=code, status="prepared",
        owner=before.owner, language="python",
    )  # fmt: skip
    await intake.journal.store_run(revert)
    return Revert(id=revert.id, execution=before.id, code=code, calls=len(lines), kept=tuple(kept[:MOST_UNDONE]))


async def _find_redactor(intake: Intake, run: RunRecord) -> Redactor | None:
    """Returns the redactor that holds the masks of a run, or None if its session is gone and the masks with it."""
    if run.session is None:
        return await intake.redactors.get_redactor(f"run {run.root}", is_new=False)
    try:
        session = await intake.sessions.find_by_name(run.session, identity=run.owner)
    except NotFound:
        return None
    return await intake.redactors.get_redactor(name_session_scope(session.key), is_new=False)


def _write_calls(entries: Sequence[JournalEntry], policy: Policy, redactor: Redactor | None) -> tuple[list[str], list[KeptWrite]]:
    """Returns the undoing calls as lines of a program, and the writes that stay."""
    lines, kept = list[str](), list[KeptWrite]()
    for entry in entries:
        undo = policy.find_undo(entry.tool)
        try:
            if undo is None:
                raise CannotUndo("`policy.revert` does not say how")
            if entry.state != "done":
                raise CannotUndo("it was sent, and it is not known whether it was made")
            arguments = undo.build_arguments(result=entry.value, arguments=entry.arguments)
            _refuse_lost_masks(arguments, redactor)
        except CannotUndo as error:
            kept.append(KeptWrite(tool=entry.tool, reason=str(error)))
        else:
            # Texts, numbers and booleans only: what `repr` writes of them is a literal, whatever a server put into them.
            lines.append(f"call_mcp_tool({undo.tool!r}, {arguments!r})")
    return lines, kept


def _refuse_lost_masks(arguments: dict[str, Json], redactor: Redactor | None) -> None:
    """Raises if a placeholder among the arguments stands for nothing any more: it would be sent as it is."""
    shown = arguments if redactor is None else redactor.unmask(arguments)
    if any(EXACT_PLACEHOLDER.search(text) for text in JsonLeaves(shown).strings):
        raise CannotUndo("a value that it needs was masked, and the mask is not kept")


def _explain_kept(kept: Sequence[KeptWrite]) -> str:
    reasons = list(dict.fromkeys(f"{each.tool}: {each.reason}" for each in kept))
    return "; ".join(reasons[:5]) or "no write of it is on record"
