"""The layers of a run that keep data where it belongs: masks, and rules about what may flow from one server to another."""

from collections import OrderedDict

from gristmill.config import Config
from gristmill.guard.flows import FlowLayer, Flows
from gristmill.guard.mask_layer import MaskLayer
from gristmill.model import ToolCall
from gristmill.runtime.run import Run

OPEN = 1_000
"""Sessions whose values are remembered for flow rules; the one used longest ago goes first."""


class Shields:
    """Makes the layers for each run; what flow rules remember belongs to the session."""

    def __init__(self, config: Config) -> None:
        self._mask, self._deny = config.mask, config.flows.deny
        self._flows: OrderedDict[str, Flows] = OrderedDict()

    def masks(self, run: Run) -> MaskLayer | None:
        """Real values go out, and in ``full`` mode masks come back; nothing where masking is off."""
        mode = self._mask.mode
        if mode == "off" or run.redactor is None:
            return None
        return MaskLayer(run.redactor, mode=mode, reveal=_was_allowed)

    def flows(self, run: Run) -> FlowLayer | None:
        """The rules of the run's session; nothing where there are none."""
        if not self._deny:
            return None
        scope = run.space or run.root
        flows = self._flows.get(scope)
        if flows is None:
            flows = self._flows[scope] = Flows(self._deny, resolve=run.reveal)
        self._flows.move_to_end(scope)
        while len(self._flows) > OPEN:
            self._flows.popitem(last=False)
        return FlowLayer(flows)


def _was_allowed(_call: ToolCall) -> bool:
    """A call that reaches the innermost layer has passed every rule: it may carry what it names."""
    return True
