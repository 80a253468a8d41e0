"""The layers of a run that keep data where it belongs: masks, and rules about what may flow from one server to another."""

from collections import OrderedDict
from dataclasses import field

from gristmill.config.tree import Config
from gristmill.guard.mask.mask_layer import MaskLayer
from gristmill.guard.policy.flow_rules import FlowLayer, Flows
from gristmill.guard.policy.seen_sources import Sources
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.execution.execution_state import Run
from gristmill.session.session_register import session_key
from gristmill.values import dataclass

OPEN = 1_000
"""Sessions whose values are remembered for flow rules; the one used longest ago goes first."""


@dataclass(slots=True)
class _Seen:
    """What one session has seen in this process, and whether that outlives it."""

    flows: Flows
    noted: set[str] = field(default_factory=set[str])


class Shields:
    """Makes the layers for each run; what flow rules remember belongs to the session."""

    def __init__(self, config: Config, sources: Sources) -> None:
        self._mask, self._deny, self._sources = config.mask, config.flows.deny, sources
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    def masks(self, run: Run) -> MaskLayer | None:
        """Real values go out, and in ``full`` mode masks come back; nothing where masking is off."""
        mode = self._mask.mode
        if mode == "off" or run.redactor is None:
            return None
        return MaskLayer(run.redactor, mode=mode, reveal=_was_allowed)

    def flows(self, run: Run) -> "WatchFlows | None":
        """The rules of the run's session; nothing where there are none."""
        return WatchFlows(self, run) if self._deny else None

    async def seen(self, run: Run) -> _Seen:
        """What the session of ``run`` has seen; of an earlier process, or of one put aside here, only by whom it was told."""
        scope = _scope(run)
        seen = self._seen.get(scope)
        if seen is None:
            before = await self._sources.seen(scope) if run.space else ()
            made = _Seen(Flows(self._deny, resolve=run.reveal, seen_before=before), set(before))
            seen = self._seen.setdefault(scope, made)
        self._seen.move_to_end(scope)
        while len(self._seen) > OPEN:
            self._seen.popitem(last=False)
        return seen

    async def note(self, run: Run, tool: str) -> None:
        """Values of ``tool`` are about to be handed over: keep that, before they are."""
        seen = await self.seen(run)
        if tool in seen.noted or not seen.flows.is_source(tool):
            return
        if run.space:
            # A run without a session sees its values anew when it is taken up again: nothing has to be kept.
            await self._sources.note(run.space, (tool,))
        seen.noted.add(tool)

    async def branch(self, space: str, new: str) -> None:
        """A branch of a session holds what the session has seen."""
        seen = self._seen.get(space)
        if self._deny and seen is not None:
            self._seen[new] = seen
        if self._deny and (tools := await self._sources.seen(space)):
            await self._sources.note(new, tools)

    def forget(self, space: str) -> None:
        """A session has ended."""
        self._seen.pop(space, None)

    async def inherit(self, run: Run, session: str) -> None:
        """What a run without a session leaves behind lies in one named after it, which has seen the same."""
        seen = self._seen.get(_scope(run))
        if run.space is None and seen is not None and seen.noted:
            await self._sources.note(session_key(run.execution.tenant, session), sorted(seen.noted))


@dataclass(frozen=True, slots=True)
class WatchFlows:
    """A layer that knows its session's past by the first call."""

    shields: Shields
    run: Run

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Refuse, or pass on and remember.

        Raises:
            CallRefused: a flow rule forbids it.
            StoreUnavailable: it cannot be kept whose values the session has seen.
        """
        seen = await self.shields.seen(self.run)
        result = await FlowLayer(seen.flows)(call, proceed)
        if call.tool not in seen.noted:
            await self.shields.note(self.run, call.tool)
        return result


def _scope(run: Run) -> str:
    return run.space or f"run {run.root}"


def _was_allowed(_call: ToolCall) -> bool:
    """A call that reaches the innermost layer has passed every rule: it may carry what it names."""
    return True
