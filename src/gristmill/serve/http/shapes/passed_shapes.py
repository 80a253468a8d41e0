"""The JSON objects that routes pass on as other parts of the service wrote them: audit records, token accounts and events.

They are for the OpenAPI document only (see ``documented_as``). ``tests/unit/serve/http/test_passed_shapes.py`` compares them with
the values that they describe.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypeAliasType, TypedDict

from gristmill.model import Outcome
from gristmill.runtime.values.audit_values import Kind

_DOCSTRINGS = ConfigDict(use_attribute_docstrings=True)


@with_config(_DOCSTRINGS)
class AuditRecordView(TypedDict):
    """One audit record. Fields without a value are left out."""

    seq: int
    """Its number in the audit log."""
    hash: str
    kind: Kind
    id: str
    time: float
    """In seconds since 1970: when an execution began, or when anything else ended."""
    tenant: str
    caller: str
    parent: NotRequired[str]
    """The id of the record inside which it happened."""
    session: NotRequired[str]
    code: NotRequired[str]
    code_hash: NotRequired[str]
    tool: NotRequired[str]
    arguments: NotRequired[Any]
    decision: NotRequired[str]
    rule: NotRequired[str]
    """The rule that decided."""
    status: NotRequired[str]
    error: NotRequired[str]
    bytes: NotRequired[int]
    """How many characters came back."""
    ms: NotRequired[float]
    """How long it took, in milliseconds."""
    details: NotRequired[dict[str, Any]]


@with_config(_DOCSTRINGS)
class AuditTreeView(AuditRecordView):
    """One audit record with the records of everything that happened inside it, in order."""

    children: "list[AuditTreeView]"


class WayCostView(TypedDict):
    """The input tokens of one way of working, counted once and with re-sending, and its number of requests."""

    once: int
    resent: int
    requests: int


class WayCostsView(TypedDict):
    """The costs of the three ways, for the same work."""

    direct: WayCostView
    search: WayCostView
    code: WayCostView


class SavingView(TypedDict):
    """What code saved against another way; negative when code cost more."""

    once: int
    resent: int
    once_percent: float
    resent_percent: float


class SavingsView(TypedDict):
    """Both savings, and the costs that they compare."""

    ways: WayCostsView
    against_direct: SavingView
    against_search: SavingView


class AdviceView(TypedDict):
    """One recommendation; `tokens` is what following it saves, or 0 where that is not known."""

    kind: Literal["expose", "unused_server", "missed_search"]
    subject: str
    text: str
    tokens: int


class WayPricesView(TypedDict):
    """What the three ways cost in dollars, and what code saved against the others."""

    direct: float
    search: float
    code: float
    saved: float
    saved_against_search: float


class TokenCostsView(TypedDict):
    """The input tokens in money, without and with prompt caching."""

    price_per_million: float
    plain: WayPricesView
    cached: WayPricesView


@with_config(_DOCSTRINGS)
class TokensView(TypedDict):
    """What the recorded work cost in tokens, and would have cost in two other ways."""

    tokens_saved: int
    """Against direct calls, each token counted once; outcomes and the metric add up to it."""
    conversations: int
    executions: int
    calls: int
    searches: int
    tools: int
    definition_tokens: int
    savings: SavingsView
    costs: TokenCostsView
    summary: str
    """The savings in sentences."""
    advice: list[AdviceView]
    method: str
    """How the tokens were counted."""


class OutputEvent(TypedDict):
    """The code wrote to stdout or stderr."""

    type: Literal["output"]
    at: float
    execution: str
    text: str


class CallStartedEvent(TypedDict):
    """A tool call left the sandbox."""

    type: Literal["call_started"]
    at: float
    execution: str
    call: int
    tool: str


class CallProgressedEvent(TypedDict):
    """A server reported the progress of a call; `total` is null when the server does not know it."""

    type: Literal["call_progressed"]
    at: float
    execution: str
    call: int
    tool: str
    progress: float
    total: float | None
    message: str | None


class CallFinishedEvent(TypedDict):
    """A tool call was answered; `ok` is false when the code got an exception, gave the call up (`abandoned`), or got a stand-in
    because the call was not sent, only `planned`."""

    type: Literal["call_finished"]
    at: float
    execution: str
    call: int
    tool: str
    ok: bool
    abandoned: bool
    planned: bool


class DroppedEvent(TypedDict):
    """So many events before the next one are no longer kept."""

    type: Literal["dropped"]
    events: int


class OutcomeEvent(TypedDict):
    """The execution ended with an outcome. It is the last event."""

    type: Literal["outcome"]
    execution: str
    outcome: Outcome


class EndProblemView(TypedDict):
    """Why an execution ended without an outcome: `code` is `cancelled` or the code of an error."""

    code: str
    message: NotRequired[str]


class ProblemEvent(TypedDict):
    """The execution ended without an outcome. It is the last event."""

    type: Literal["problem"]
    execution: str
    problem: EndProblemView


RunEvent = TypeAliasType(
    "RunEvent",
    Annotated[
        OutputEvent | CallStartedEvent | CallProgressedEvent | CallFinishedEvent | DroppedEvent | OutcomeEvent | ProblemEvent,
        Field(discriminator="type"),
    ],
)


@with_config(_DOCSTRINGS)
class RunningExecutionView(TypedDict):
    """One running execution."""

    id: str
    session: str | None
    caller: str
    time: float
    """When it began, in seconds since 1970."""
    line: str | None
    """The beginning of its last line of output."""
    open_calls: list[str]
    """The tools of its oldest open calls."""
    open_calls_total: int


@with_config(_DOCSTRINGS)
class RunningEvent(TypedDict):
    """The running executions that you may see."""

    type: Literal["running"]
    running: list[RunningExecutionView]
    """The newest of them."""
    total: int
    last_ended: float | None
    """When the last execution that is kept ended, in seconds since 1970."""
