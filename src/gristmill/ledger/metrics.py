"""What is counted, for Prometheus. One registry per runtime; the library is imported only when counting is on."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from gristmill.values import dataclass

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Shape = Literal["counter", "gauge", "histogram"]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNKNOWN = "unknown"
"""The server of calls to one that there is not."""

_CREATED = re.compile(rb"(# (HELP|TYPE) )?\w+_created[ {]")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_MEGABYTES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One name in the exposition."""

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
        meaning="Tokens saved against direct tool calls since the start; it falls where code was dearer.",
    ),
    Metric(name="tool_calls_total", shape="counter", labels=("server", "outcome"), meaning="Tool calls by how they ended."),
    Metric(
        name="tool_call_duration_seconds",
        shape="histogram",
        labels=("server",),
        buckets=_SECONDS,
        meaning="How long a tool call took.",
    ),
    Metric(name="sandbox_pool_children", shape="gauge", labels=("state",), meaning="Sandboxes by what they are doing."),
    Metric(
        name="sandbox_pool_size",
        shape="gauge",
        labels=("kind",),
        meaning="What is configured: children that should be `warm`, executions at the same time (`concurrency`).",
    ),
    Metric(name="approvals_total", shape="counter", labels=("decision",), meaning="Plans by what was decided about them."),
    Metric(name="masked_values_total", shape="counter", labels=("kind",), meaning="Values replaced by a placeholder."),
    Metric(name="cache_requests_total", shape="counter", labels=("result",), meaning="Reads answered by the cache, or not."),
    Metric(name="http_requests_total", shape="counter", labels=("route", "status"), meaning="Requests by what was answered."),
    Metric(name="security_events_total", shape="counter", labels=("rule",), meaning="Refusals, limits reached and anomalies."),
)


class NoMetrics:
    """Counts nothing, at no cost."""

    def executed(self, status: str, *, seconds: float, memory_mb: float, tokens_saved: int | None = None) -> None:
        """An execution ended."""

    def called(self, server: str, outcome: str, *, seconds: float) -> None:
        """A tool call ended."""

    def approved(self, decision: str) -> None:
        """A plan was decided about: approved, denied or expired."""

    def masked(self, kind: str, count: int = 1) -> None:
        """Values of a kind were masked."""

    def cached(self, *, hit: bool) -> None:
        """A read that may be cached was asked for."""

    def noticed(self, rule: str) -> None:
        """A security record was made."""

    def broken_off(self, status: str) -> None:
        """An execution ended without an outcome: cancelled, or by an error of ours, whose code is its status."""

    def answered(self, route: str, status: int) -> None:
        """A request was answered."""

    def render(self) -> bytes:
        """The exposition: empty."""
        return b""


class Metrics(NoMetrics):
    """Counts, in a registry of its own. ``pool`` says how many sandboxes are in which state, ``sizes`` how many there may be."""

    def __init__(
        self,
        pool: Callable[[], Mapping[str, int]] | None = None,
        sizes: Mapping[str, int] | None = None,
        servers: Iterable[str] = (),
    ) -> None:
        from prometheus_client import CollectorRegistry  # 30 modules, a web server among them

        self.registry: CollectorRegistry = CollectorRegistry()
        self._pool = pool
        self._made: dict[str, Any] = {metric.name: _made(metric, self.registry) for metric in METRICS}
        for kind, size in (sizes or {}).items():
            self._made["sandbox_pool_size"].labels(kind).set(size)
        self._servers = frozenset(servers)
        self._begin_at_nothing()

    def _begin_at_nothing(self) -> None:
        """What alerts look at is there from the start: the first burst is an increase only where there was a nothing before."""
        for server in self._servers:
            for outcome in ("ok", "refused.call", "upstream.unavailable"):
                self._made["tool_calls_total"].labels(server, outcome)
        for status in ("ok", "failed", "crashed", "limited", "sandbox.unavailable", "store.unavailable"):
            self._made["code_executions_total"].labels(status)
        for status in ("200", "429", "500", "503"):
            self._made["http_requests_total"].labels("/execute", status)
        for rule in ("limit.seconds", "limit.memory_mb"):
            self._made["security_events_total"].labels(rule)
        for result in ("hit", "miss"):
            self._made["cache_requests_total"].labels(result)

    def executed(self, status: str, *, seconds: float, memory_mb: float, tokens_saved: int | None = None) -> None:
        """An execution ended."""
        self._made["code_executions_total"].labels(status).inc()
        self._made["code_execution_duration_seconds"].observe(seconds)
        self._made["code_execution_memory_mb"].observe(memory_mb)
        self._made["code_execution_memory_bytes"].observe(memory_mb * 1_000_000)
        self._made["code_execution_token_savings"].inc(tokens_saved or 0)

    def called(self, server: str, outcome: str, *, seconds: float) -> None:
        """A tool call ended. Code may name any server: those that there are not are one."""
        server = server if server in self._servers else UNKNOWN
        self._made["tool_calls_total"].labels(server, outcome).inc()
        self._made["tool_call_duration_seconds"].labels(server).observe(seconds)

    def approved(self, decision: str) -> None:
        """A plan was decided about: approved, denied or expired."""
        self._made["approvals_total"].labels(decision).inc()

    def masked(self, kind: str, count: int = 1) -> None:
        """Values of a kind were masked."""
        self._made["masked_values_total"].labels(kind).inc(count)

    def cached(self, *, hit: bool) -> None:
        """A read that may be cached was asked for."""
        self._made["cache_requests_total"].labels("hit" if hit else "miss").inc()

    def noticed(self, rule: str) -> None:
        """A security record was made."""
        self._made["security_events_total"].labels(rule).inc()

    def broken_off(self, status: str) -> None:
        """An execution ended without an outcome: cancelled, or by an error of ours, whose code is its status."""
        self._made["code_executions_total"].labels(status).inc()

    def answered(self, route: str, status: int) -> None:
        """A request was answered."""
        self._made["http_requests_total"].labels(route, str(status)).inc()

    def render(self) -> bytes:
        """The exposition, in the text format that every scraper reads."""
        from prometheus_client import generate_latest

        if self._pool is not None:
            gauge = self._made["sandbox_pool_children"]
            gauge.clear()  # a state that is gone is not a state with its last count
            for state, count in self._pool().items():
                gauge.labels(state).set(count)
        # The library adds when each series was made; switching that off is global, and the process may not be ours alone.
        lines = generate_latest(self.registry).splitlines(keepends=True)
        return b"".join(line for line in lines if not _CREATED.match(line))


def _made(metric: Metric, registry: "CollectorRegistry") -> Any:
    from prometheus_client import Counter, Gauge, Histogram

    if metric.shape == "histogram":
        return Histogram(metric.name, metric.meaning, metric.labels, registry=registry, buckets=metric.buckets)
    kind = Counter if metric.shape == "counter" else Gauge
    return kind(metric.name, metric.meaning, metric.labels, registry=registry)
