"""May this call leave? Rules and people decide; what has to wait for a person goes into the plan, and the program goes on."""

from collections.abc import Callable
from dataclasses import replace

from gristmill.errors import CallRefused, UnknownTool
from gristmill.model import Decision, Handler, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.proper_names import Find
from gristmill.runtime.execution.execution_state import Run
from gristmill.values import dataclass

DecideCall = Callable[[ToolCall, Tool | None], Decision]


@dataclass(frozen=True, slots=True)
class Decide:
    """A layer. Once a call waits, no later write leaves either: writes happen in the program's order or not at all."""

    run: Run
    find: Find
    decide: DecideCall
    refuse: Callable[[ToolCall, Decision], CallRefused]
    definition: Callable[[str], str] = lambda _key: ""
    """What is behind a key now, by hash: a decision holds for the tool that the person saw."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on, plan it, or refuse it.

        Raises:
            CallRefused: a rule or an approver said no.
        """
        run, tool = self.run, self._tool(call.tool)
        revealed = run.reveal(call.arguments)
        decision = self.decide(call if revealed is call.arguments else replace(call, arguments=revealed), tool)
        run.decisions[call.id], run.names[call.id] = decision, call.tool
        if decision.effect == "deny":
            raise self.refuse(call, decision)
        before, grant = run.before(call), run.grant(call, self.definition(call.tool)) if run.grants else None
        if before is not None and before.state == "done":
            return await proceed(call)
        if grant is not None and not grant.allowed:
            raise CallRefused(f"{call.tool}: the approver said no; do not try it again", rule=f"approval {grant.approval}")
        lost = before is not None and before.state == "sent" and not decision.read_only
        # An approval is used up by sending: whether to risk doing it twice is a new question.
        asks = (decision.effect == "ask" and grant is None) or (lost and not (grant is not None and grant.call.was_lost))
        if asks or ((run.planned or run.dry_run) and (not decision.read_only or run.refers(call))):
            definition = self.definition(call.tool)
            number = run.plan(call, decision, needs_approval=asks, was_lost=lost, definition=definition)
            return ToolResult(value=None, planned=number)
        if grant is not None:
            run.decisions[call.id] = replace(decision, rule=f"{decision.rule}, approval {grant.approval}")
        return await proceed(call)

    def _tool(self, key: str) -> Tool | None:
        try:
            return self.find(key)
        except UnknownTool:
            return None
