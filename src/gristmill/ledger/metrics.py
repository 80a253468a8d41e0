"""Lists the metrics for Prometheus, and counts none of them: ``prometheus_metrics`` counts where counting is on."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

Shape = Literal["counter", "gauge", "histogram"]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNKNOWN_SERVER = "unknown"
"""The server label of calls to a server that does not exist."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_CHARACTERS = (50.0, 100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, 6_400.0, 12_800.0, 100_000.0)
_MEGABYTES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0)


class Metric(Struct, frozen=True, kw_only=True):
    """One metric of the exposition: its name, its kind and its help text."""

    name: str
    shape: Shape
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


METRICS = (
    Metric(name="code_executions_total", shape="counter", labels=("status",), meaning="Executions by how they ended."),
    Metric(name="code_execution_duration_seconds", shape="histogram", buckets=_SECONDS, meaning="How long an execution took."),
    Metric(name="code_execution_memory_mb", shape="histogram", buckets=_MEGABYTES, meaning="Memory of an execution in MB."),
    Metric(
        name="code_execution_memory_bytes",
        shape="histogram",
        buckets=tuple(size * 1_000_000 for size in _MEGABYTES),
        meaning="Memory of an execution in bytes.",
    ),
    Metric(
        name="code_execution_cpu_seconds_total",
        shape="counter",
        meaning="CPU seconds of programs, as measured when they ended.",
    ),
    Metric(
        name="code_execution_token_savings",
        shape="gauge",
        meaning="Tokens saved against direct tool calls since the start, as in `/stats`; it falls when code cost more.",
    ),
    Metric(name="tool_calls_total", shape="counter", labels=("server", "outcome"), meaning="Tool calls by how they ended."),
    Metric(
        name="tool_call_duration_seconds",
        shape="histogram",
        labels=("server",),
        buckets=_SECONDS,
        meaning="How long a tool call took.",
    ),
    Metric(name="sandbox_pool_children", shape="gauge", labels=("state",), meaning="Sandboxes by their state."),
    Metric(
        name="sandbox_pool_size",
        shape="gauge",
        labels=("kind",),
        meaning="Configured sizes: children that should be `warm`, executions at the same time (`concurrency`).",
    ),
    Metric(
        name="server_up",
        shape="gauge",
        labels=("server",),
        meaning="0 for a server that cannot be reached, whether or not it is called; 1 for one that can, or was not needed yet.",
    ),
    Metric(name="approvals_pending", shape="gauge", meaning="Plans that wait for a person, in the whole store."),
    Metric(name="approvals_oldest_seconds", shape="gauge", meaning="How long the oldest of them has waited; 0 if none waits."),
    Metric(name="approvals_expiring", shape="gauge", meaning="Plans that wait and have less than a quarter of their time left."),
    Metric(name="approvals_total", shape="counter", labels=("decision",), meaning="Plans by the decision about them."),
    Metric(name="masked_values_total", shape="counter", labels=("kind",), meaning="Values replaced by a placeholder."),
    Metric(name="cache_requests_total", shape="counter", labels=("result",), meaning="Reads answered by the cache, or not."),
    Metric(name="http_requests_total", shape="counter", labels=("route", "status"), meaning="Requests by the status answered."),
    Metric(
        name="clock_trusted",
        shape="gauge",
        meaning="1 if the clock agrees with the time that has passed; 0 if it jumped, and nothing is deleted as old.",
    ),
    Metric(
        name="tokens_total",
        shape="counter",
        labels=("way", "arm", "tenant"),
        meaning="Tokens of executions: what they cost (`code`), and what direct calls would have cost (`direct`).",
    ),
    Metric(
        name="cost_dollars_total",
        shape="counter",
        labels=("way", "arm"),
        meaning="The same tokens in dollars, at `records.token_price`.",
    ),
    Metric(
        name="tokens_saved_by_use",
        shape="gauge",
        labels=("use",),
        meaning="Tokens saved against direct calls since the start, by what the program did.",
    ),
    Metric(
        name="executions_by_use_total",
        shape="counter",
        labels=("use",),
        meaning="Executions by what the program did: `filtering`, `workflow`, `polling`, `other`.",
    ),
    Metric(name="conversations_total", shape="counter", meaning="Conversations of the chat, or whose turns were reported."),
    Metric(
        name="conversations_with_code_total", shape="counter", meaning="Those of them in which a program of the model has run."
    ),
    Metric(name="code_length_characters", shape="histogram", buckets=_CHARACTERS, meaning="Length of programs."),
    Metric(
        name="code_execution_errors_total",
        shape="counter",
        labels=("type",),
        meaning="Executions that did not succeed, by the type of their error.",
    ),
    Metric(
        name="tool_combinations",
        shape="gauge",
        labels=("tools",),
        meaning="Executions since the start that used these tools together: the most frequent combinations.",
    ),
    Metric(
        name="arm_outcomes_total",
        shape="counter",
        labels=("arm", "outcome"),
        meaning="Turns and executions of each arm of the rollout: `ok` or `failed`.",
    ),
    Metric(
        name="arm_outcome_duration_seconds",
        shape="histogram",
        labels=("arm",),
        buckets=_SECONDS,
        meaning="How long a turn or an execution of an arm took.",
    ),
    Metric(name="rollout_percent", shape="gauge", meaning="Percent of users that have a new arm."),
    Metric(
        name="rollout_standing",
        shape="gauge",
        labels=("standing",),
        meaning="1 for how the rollout stands: `idle`, `running`, `held` or `rolled_back`.",
    ),
    Metric(name="rollout_guardrail_value", shape="gauge", labels=("guardrail", "arm"), meaning="What a guardrail shows now."),
    Metric(name="rollout_guardrail_limit", shape="gauge", labels=("guardrail", "arm"), meaning="The limit of a guardrail."),
    Metric(
        name="rollout_guardrail_breached",
        shape="gauge",
        labels=("guardrail", "arm"),
        meaning="1 if the condition of a guardrail has come true, 0 if not.",
    ),
    Metric(name="security_events_total", shape="counter", labels=("rule",), meaning="Refusals, limits reached and anomalies."),
)


class TokenFigures(Struct, frozen=True, kw_only=True):
    """What an execution cost in tokens and dollars, and what direct calls would have cost."""

    tenant: str
    arm: str
    use: str
    code: int
    direct: int
    dollars_per_token: float


class GuardrailFigures(Struct, frozen=True, kw_only=True):
    """What one guardrail shows for one arm."""

    guardrail: str
    arm: str
    value: float | None
    limit: float
    is_breached: bool


class PlanFigures(Struct, frozen=True, kw_only=True):
    """How many plans wait, how long the oldest has, and how many have less than a quarter of their time left."""

    pending: int
    oldest_seconds: float
    expiring: int


class NoMetrics:
    """Counts nothing, at no cost."""

    is_counting = False
    content_type = CONTENT_TYPE
    """The media type of what ``render`` returns."""

    def add_servers(self, servers: Iterable[str]) -> None:
        """Takes note of servers that were added after the start."""

    def count_execution(self, status: str, *, seconds: float, memory_mb: float) -> None:
        """Counts an execution that ended."""

    def count_cpu(self, seconds: float) -> None:
        """Counts the CPU time of a program."""

    def count_turn(self, conversation: str, *, used_code: bool) -> None:
        """Counts the conversation of a turn, once, and whether a program ran in it."""

    def set_waiting_plans(self, waiting: PlanFigures | None) -> None:
        """Notes the plans that wait for a person; None where that is not known now."""

    def count_saved_tokens(self, tokens: int) -> None:
        """Counts what an execution or a search saved in tokens, negative if it cost more."""

    def count_call(self, server: str, outcome: str, *, seconds: float) -> None:
        """Counts a tool call that ended."""

    def count_approval(self, decision: str) -> None:
        """Counts a decision about a plan: approved, denied or expired."""

    def count_masked(self, kind: str, count: int = 1) -> None:
        """Counts values of one kind that were masked."""

    def count_cache_request(self, *, hit: bool) -> None:
        """Counts a read that may be cached, and whether the cache answered it."""

    def count_security_event(self, rule: str) -> None:
        """Counts a security record."""

    def count_broken_off(self, status: str) -> None:
        """Counts an execution that ended without an outcome: cancelled, or by an internal error whose code is its status."""

    def count_http_request(self, route: str, status: int) -> None:
        """Counts an HTTP request that was answered."""

    def count_program(self, characters: int, error_type: str | None, tools: frozenset[str]) -> None:
        """Counts the length of a program, the type of its error, and the tools that it used together."""

    def count_tokens(self, tokens: TokenFigures) -> None:
        """Counts what an execution cost in tokens and money, and what it saved by its use."""

    def count_arm_outcome(self, arm: str, *, failed: bool, seconds: float) -> None:
        """Counts a turn or an execution of an arm."""

    def set_rollout(self, percent: float, standing: str, guardrails: Sequence[GuardrailFigures]) -> None:
        """Notes where the rollout stands and what its guardrails show, in place of what was noted before."""

    def render(self) -> bytes:
        """Returns an empty exposition."""
        return b""
