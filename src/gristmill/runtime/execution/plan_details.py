"""Tells an approver more about a plan than its calls: the program that asks, what its tools do, and the values behind masks."""

from msgspec import Struct

from gristmill.errors import NotFound, UnknownSession, UnknownTool
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.approvals import Approval
from gristmill.model import Json, Language
from gristmill.runtime.execution.session_redactors import name_session_scope
from gristmill.runtime.rooms import Rooms

LONGEST_DESCRIPTION = 2_000
"""Most characters of a tool's description that an approver is shown."""


class PlannedTool(Struct, frozen=True, kw_only=True):
    """What the server says about a tool of a plan."""

    description: str
    is_cut: bool = False
    """Whether the description is longer than this."""


class PlanDetails(Struct, frozen=True, kw_only=True):
    """The program of a plan, masked, and its tools; ``values`` are the arguments of its calls without masks, if asked for."""

    code: str | None
    language: Language | None
    tools: dict[str, PlannedTool]
    has_masks: bool
    """Whether masks stand in the arguments, so that there are other values to show."""
    values: dict[int, Json] | None = None


async def load_plan_details(rooms: Rooms, approval: Approval, *, reveal: bool) -> PlanDetails:
    """Loads the details of a plan; ``reveal`` says that this approver may see real values."""
    redactor = await _load_redactor(rooms, approval)
    shown = {call.number: dict(call.arguments) for call in approval.plan.calls}
    real = shown if redactor is None else {number: redactor.unmask(arguments) for number, arguments in shown.items()}
    code, language = await _load_program(rooms, approval, redactor)
    return PlanDetails(
        code=code, language=language, tools=_describe_tools(rooms, approval), has_masks=real != shown,
        values=dict(real) if reveal else None,
    )  # fmt: skip


async def _load_program(rooms: Rooms, approval: Approval, redactor: Redactor | None) -> tuple[str | None, Language | None]:
    try:
        run = await rooms.intake.journal.find_run(approval.execution)
    except NotFound:
        return None, None
    masks = rooms.presenter.masks
    if masks and redactor is None:
        return None, run.language  # without the masks of its session a program is not shown
    return (redactor.mask_text(run.code) if masks and redactor else run.code) or None, run.language


async def _load_redactor(rooms: Rooms, approval: Approval) -> Redactor | None:
    """Returns the masks of the session or run that asked; None if its session has ended."""
    if approval.session is None:
        return await rooms.intake.redactors.get_redactor(f"run {approval.root}", is_new=False)
    try:
        session = await rooms.session_stores.sessions.find_by_name(approval.session, identity=approval.owner)
    except UnknownSession:
        return None
    return await rooms.intake.redactors.get_redactor(name_session_scope(session.key), is_new=False)


def _describe_tools(rooms: Rooms, approval: Approval) -> dict[str, PlannedTool]:
    described: dict[str, PlannedTool] = {}
    for key in dict.fromkeys(call.tool for call in approval.plan.calls):
        try:
            text = rooms.library.find(key).description
        except UnknownTool:
            continue  # its server is gone, or not listed here
        described[key] = PlannedTool(description=text[:LONGEST_DESCRIPTION], is_cut=len(text) > LONGEST_DESCRIPTION)
    return described
