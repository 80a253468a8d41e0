"""Lists the metrics for Prometheus, and counts none of them: ``prometheus_metrics`` counts where counting is on."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Shape = Literal["counter", "gauge", "histogram"]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNKNOWN_SERVER = "unknown"
"""The server label of calls to a server that does not exist."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
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
    Metric(name="approvals_total", shape="counter", labels=("decision",), meaning="Plans by the decision about them."),
    Metric(name="masked_values_total", shape="counter", labels=("kind",), meaning="Values replaced by a placeholder."),
    Metric(name="cache_requests_total", shape="counter", labels=("result",), meaning="Reads answered by the cache, or not."),
    Metric(name="http_requests_total", shape="counter", labels=("route", "status"), meaning="Requests by the status answered."),
    Metric(
        name="clock_trusted",
        shape="gauge",
        meaning="1 if the clock agrees with the time that has passed; 0 if it jumped, and nothing is deleted as old.",
    ),
    Metric(name="security_events_total", shape="counter", labels=("rule",), meaning="Refusals, limits reached and anomalies."),
)


class NoMetrics:
    """Counts nothing, at no cost."""

    content_type = CONTENT_TYPE
    """The media type of what ``render`` returns."""

    def add_servers(self, servers: Iterable[str]) -> None:
        """Takes note of servers that were added after the start."""

    def count_execution(self, status: str, *, seconds: float, memory_mb: float) -> None:
        """Counts an execution that ended."""

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

    def render(self) -> bytes:
        """Returns an empty exposition."""
        return b""
