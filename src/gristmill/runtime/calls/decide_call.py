"""Decides by rules and approvals whether a call may leave; a call that needs a person is planned, and the program goes on."""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import CallRefused, UnknownTool
from gristmill.model import Decision, Handler, Json, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.proper_names import Find
from gristmill.runtime.calls.review_calls import CallReviews
from gristmill.runtime.execution.execution_state import ExecutionState

DecideByRules = Callable[[ToolCall, Tool | None], Decision]
ConfirmDefinition = Callable[[str, str], Awaitable[None]]
"""Connects to the server of a key; raises when its definition is not the one with that hash."""


FindRule = Callable[[ToolCall, str, str | None], Awaitable[str | None]]
"""Returns the rule, in words, by which a person allowed calls like this one of a tool with this definition, or None."""


UNDOING = "policy.revert: a person decides what is undone"
"""The rule, in words, by which each call of a run asks that undoes another one: a server chose the values in it."""


async def find_no_rule(_call: ToolCall, _definition: str, _space: str | None) -> str | None:
    """Finds no rule: for runs without an inbox."""
    return None


async def _confirm_nothing(_key: str, _hash: str) -> None:
    """Confirms every definition: for runs without servers."""


class DecideCall(Struct, frozen=True):
    """A layer that decides. Once a call waits, no later write leaves: writes happen in the program's order or not at all."""

    run: ExecutionState
    find: Find
    decide: DecideByRules
    refuse: Callable[[ToolCall, Decision], CallRefused]
    hash_definition: Callable[[str], str] = lambda _key: ""
    """Returns the hash of the definition that a key has now: an approval holds only for the tool that the person saw."""
    is_listed: Callable[[str], bool] = lambda _key: True
    """Whether the definition comes from its server in this process: nothing is allowed because of a remembered one."""
    confirm: ConfirmDefinition = _confirm_nothing
    find_rule: FindRule = find_no_rule
    reviews: CallReviews | None = None

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, plans it, or refuses it.

        Raises:
            CallRefused: a rule forbids it, an approver said no, or the definition changed on the way.
            UpstreamUnavailable: the definition is remembered from an earlier process, and its server cannot confirm it.
        """
        run, tool = self.run, self._find_tool(call.tool)
        revealed = run.unmask_value(call.arguments)
        decision = self.decide(call if revealed is call.arguments else replace(call, arguments=revealed), tool)
        run.decisions[call.id], run.names[call.id] = decision, call.tool
        if decision.effect == "deny":
            raise self.refuse(call, decision)
        definition = run.definitions[call.id] = self.hash_definition(call.tool)
        before, grant = run.find_recorded(call), run.find_grant(call, definition) if run.grants else None
        if before is not None and before.state == "done":
            return await proceed(call)
        if not self.is_listed(call.tool):
            await self.confirm(call.tool, definition)
        if grant is not None and not grant.allowed:
            raise CallRefused(f"{call.tool}: the approver said no; do not try it again", rule=f"approval {grant.approval}")
        if run.is_revert:
            if decision.effect == "allow" and not decision.read_only:
                decision = run.decisions[call.id] = replace(decision, effect="ask", rule=UNDOING)
        elif grant is None and decision.effect == "ask" and (rule := await self._find_reason(call, tool, decision, revealed)):
            decision = run.decisions[call.id] = replace(decision, effect="allow", rule=f"{decision.rule}, {rule}")
        lost = before is not None and before.state == "sent" and not decision.read_only
        # Sending uses an approval up: whether to risk making a lost write twice is a new question.
        asks = (decision.effect == "ask" and grant is None) or (lost and not (grant is not None and grant.call.was_lost))
        if asks or ((run.planned or run.dry_run) and (not decision.read_only or run.refers_to_planned(call))):
            number = run.plan_call(call, decision, needs_approval=asks, was_lost=lost, definition=definition)
            return ToolResult(value=None, planned=number)
        if grant is not None:
            run.decisions[call.id] = replace(decision, rule=f"{decision.rule}, approval {grant.approval}")
        return await proceed(call)

    async def _find_reason(self, call: ToolCall, tool: Tool | None, decision: Decision, revealed: Json) -> str | None:
        """Returns why a call needs no person now: a rule that a person made, or the word of the reviewer."""
        rule = await self.find_rule(call, self.run.definitions[call.id], self.run.space)
        if rule is not None or self.reviews is None or self.run.refers_to_planned(call):
            return rule
        told = await self.reviews.find_reason(call, tool, decision, revealed)
        return None if told is None else str(self.run.mask_value(told))

    def _find_tool(self, key: str) -> Tool | None:
        try:
            return self.find(key)
        except UnknownTool:
            return None
