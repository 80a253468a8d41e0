"""The story of one tool call: through every layer, outermost first, to its server and back."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cache

from msgspec import Struct, field

from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.errors import CallRefused
from gristmill.guard.mask.clean_errors import CleanErrors
from gristmill.guard.mask.mask_layer import MaskLayer
from gristmill.guard.policy.policy import Policy
from gristmill.guard.quota.quota_layer import QuotaLayer
from gristmill.ledger.journal import Journal
from gristmill.model import Decision, Handler, Layer, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER, AnswerDiscovery
from gristmill.runtime.calls.answer_session import AnswerSession, ChangeSessionOnce
from gristmill.runtime.calls.check_arguments import CheckArguments
from gristmill.runtime.calls.decide_call import DecideCall, FindRule
from gristmill.runtime.calls.proper_names import UseProperNames
from gristmill.runtime.calls.replay_calls import ReplayCalls
from gristmill.runtime.calls.reuse_answers import AnswerCache, ReuseAnswers
from gristmill.runtime.calls.review_calls import CallReviews
from gristmill.runtime.calls.save_media import SaveMedia
from gristmill.runtime.calls.send_as_decided import SendAsDecided
from gristmill.runtime.calls.tool_layers import ToolLayers
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.recording.recorder import ExecutionRecorder, RecordCalls
from gristmill.runtime.tools.tool_library import ToolLibrary

RESERVED_SERVERS = frozenset((RESERVED_SERVER,))


class Broker(Struct, frozen=True, kw_only=True):
    """Everything that stands between code and the servers."""

    upstreams: Handler
    library: ToolLibrary
    session: AnswerSession
    discovery: AnswerDiscovery
    policy: Policy
    quota: QuotaLayer
    journal: Journal
    cache: AnswerCache
    checker: SchemaChecker
    trusted: set[str]
    """The servers whose tools are functions of the embedding application."""
    """Servers whose tools are functions of the embedding application."""
    note_run: Callable[[ExecutionState, str], None]
    """Stores what is needed to resume a run."""
    make_mask_layer: Callable[[ExecutionState], MaskLayer | None]
    make_media_layer: Callable[[ExecutionState, SaveMedia], SaveMedia]
    make_label_layer: Callable[[ExecutionState], Layer | None]
    make_flow_layer: Callable[[ExecutionState], Layer | None]
    find_rule: FindRule
    reviews: CallReviews | None = None
    tool_layers: ToolLayers = field(default_factory=ToolLayers)
    clean_errors: CleanErrors = field(default_factory=CleanErrors)

    def layers(self, run: ExecutionState, record: ExecutionRecorder) -> tuple[Layer, ...]:
        """Returns the layers that every call of ``run`` passes on its way out, outermost first.

        Arguments are checked before a person is asked: a call that cannot be made should not be approved.
        """
        layers = (
            RecordCalls(record),
            self.clean_errors,
            self.make_label_layer(run),
            ChangeSessionOnce(run, self.session, ReplayCalls(run, self.journal, self.note_run, RESERVED_SERVERS)),
            self.discovery,
            UseProperNames(self.library.find, self.library.wait_until_listed, self.library.is_known, self.library.is_listed),
            CheckArguments(self.library.find, self.checker, run.unmask_value, run.refers_to_planned, run.note_conversion),
            self.quota,
            self.make_flow_layer(run),
            self.tool_layers.hold_back,
            DecideCall(
                run, self.library.find, self.decide, self.policy.build_refusal, self.library.hash_definition,
                self.library.is_listed, self.library.confirm_definition, self.find_rule, self.reviews,
            ),
            ReplayCalls(run, self.journal, self.note_run, self.trusted),
            ReuseAnswers(run, self.cache),
            self.tool_layers.learn,
            self.make_mask_layer(run),
            self.make_media_layer(run, self.tool_layers.media),
            SendAsDecided(run, self.library.confirm_definition),
        )  # fmt: skip
        return tuple(layer for layer in layers if layer is not None)

    def handler(self, run: ExecutionState, record: ExecutionRecorder) -> Handler:
        """Returns the upstreams behind all layers, composed at the first call of ``run``, because many programs make none."""
        composed = cache(lambda: compose_layers(self.layers(run, record), leave_while_open(run, self.upstreams)))
        return lambda call: composed()(call)

    def decide(self, call: ToolCall, tool: Tool | None) -> Decision:
        """Returns what the rules say about a call, given the definitions that are accepted now."""
        accepted = self.library.is_accepted(call.tool)
        return self.policy.decide(call, tool, accepted=accepted, trusted=call.tool.partition(".")[0] in self.trusted)


def leave_while_open(run: ExecutionState, upstreams: Handler) -> Handler:
    """Wraps the upstreams: a call that waited in a layer until its program had ended must not leave any more."""

    def leave(call: ToolCall) -> Awaitable[ToolResult]:
        if run.gate.closed:
            raise CallRefused(f"{call.tool} was not sent: the execution has ended", rule="execution.ended")
        return upstreams(call)

    return leave


def compose_layers(layers: Sequence[Layer], upstream: Handler) -> Handler:
    """Wraps the upstream in ``layers``; the first of them sees a call first."""
    handler = upstream
    for layer in reversed(layers):
        handler = _wrap_handler(layer, handler)
    return handler


def _wrap_handler(layer: Layer, proceed: Handler) -> Handler:
    pass_on = layer.__call__  # looked up once, not for every call
    return lambda call: pass_on(call, proceed)
