"""The story of one tool call: through every layer, outermost first, to its server and back."""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache

from gristmill.catalog.types.schema_checker import Checker
from gristmill.guard.mask.mask_layer import MaskLayer
from gristmill.guard.policy.policy import Policy
from gristmill.guard.quota.quota_layer import Quota
from gristmill.ledger.journal import Journal
from gristmill.model import Decision, Handler, Layer, Tool, ToolCall
from gristmill.runtime.calls.answer_discovery import SERVER, AnswerDiscovery
from gristmill.runtime.calls.answer_session import AnswerSession, KeepOnce
from gristmill.runtime.calls.check_arguments import CheckArguments
from gristmill.runtime.calls.decide_call import Decide
from gristmill.runtime.calls.proper_names import ProperNames
from gristmill.runtime.calls.replay_calls import Replay
from gristmill.runtime.calls.reuse_answers import Cache, UseAgain
from gristmill.runtime.calls.tool_layers import KnownTools
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.recording.recorder import ExecutionRecord, Record
from gristmill.runtime.tools.tool_library import Library
from gristmill.values import dataclass

RESERVED = frozenset((SERVER,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Everything that stands between code and the servers."""

    upstreams: Handler
    library: Library
    session: AnswerSession
    discovery: AnswerDiscovery
    policy: Policy
    quota: Quota
    journal: Journal
    cache: Cache
    checker: Checker
    trusted: frozenset[str]
    """Servers whose tools are functions of the embedding application."""
    note: Callable[[Run, str], None]
    """Keeps what is needed to take a run up again."""
    masks: Callable[[Run], MaskLayer | None]
    flows: Callable[[Run], Layer | None]
    known: KnownTools = field(default_factory=KnownTools)

    def layers(self, run: Run, record: ExecutionRecord) -> tuple[Layer, ...]:
        """What every call of ``run`` passes on its way out, outermost first.

        Arguments are checked before anybody is asked: nobody should approve a call that cannot be made.
        """
        layers = (
            Record(record),
            KeepOnce(run, self.session, Replay(run, self.journal, self.note, RESERVED)),
            self.discovery,
            ProperNames(self.library.find, self.library.listed),
            CheckArguments(self.library.find, self.checker, run.reveal, run.refers),
            self.quota,
            self.flows(run),
            self.known.hold_back,
            Decide(run, self.library.find, self.decide, self.policy.refusal, self.library.definition),
            Replay(run, self.journal, self.note, self.trusted),
            UseAgain(run, self.cache),
            self.known.learn,
            self.masks(run),
            self.known.media,
        )
        return tuple(layer for layer in layers if layer is not None)

    def handler(self, run: Run, record: ExecutionRecord) -> Handler:
        """The upstreams behind all layers, for the calls of ``run``; made with the first of them, for many programs make none."""
        composed = cache(lambda: compose(self.layers(run, record), self.upstreams))
        return lambda call: composed()(call)

    def decide(self, call: ToolCall, tool: Tool | None) -> Decision:
        """What the rules say about a call, as things are now."""
        accepted = self.library.accepted(call.tool)
        return self.policy.decide(call, tool, accepted=accepted, trusted=call.tool.partition(".")[0] in self.trusted)


def compose(layers: Sequence[Layer], upstream: Handler) -> Handler:
    """The upstream behind ``layers``; the first of them sees a call first."""
    handler = upstream
    for layer in reversed(layers):
        handler = _behind(layer, handler)
    return handler


def _behind(layer: Layer, proceed: Handler) -> Handler:
    pass_on = layer.__call__  # looked up once, not for every call
    return lambda call: pass_on(call, proceed)
