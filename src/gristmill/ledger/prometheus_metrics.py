"""Counts with the Prometheus library. Imported only when counting is on: the library loads a web server."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gristmill.ledger.metrics import METRICS, UNKNOWN_SERVER, Metric, NoMetrics

_CREATED = re.compile(rb"(# (HELP|TYPE) )?\w+_created[ {]")


class Metrics(NoMetrics):
    """Counts in a registry of its own. ``pool`` returns how many sandboxes are in each state, ``sizes`` how many there may be.

    ``clock_trusted`` returns whether the clock is not in doubt.
    """

    def __init__(
        self,
        pool: Callable[[], Mapping[str, int]] | None = None,
        sizes: Mapping[str, int] | None = None,
        servers: Iterable[str] = (),
        clock_trusted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.registry = CollectorRegistry()
        self._pool, self._clock_trusted = pool, clock_trusted
        self._metrics: dict[str, Any] = {metric.name: _create_metric(metric, self.registry) for metric in METRICS}
        for kind, size in (sizes or {}).items():
            self._metrics["sandbox_pool_size"].labels(kind).set(size)
        self._servers: frozenset[str] = frozenset()
        self.add_servers(servers)
        self._create_zero_series()

    def add_servers(self, servers: Iterable[str]) -> None:
        """Counts calls to ``servers`` under their names, too; what was counted for others stays."""
        added = frozenset(servers) - self._servers
        self._servers |= added
        for server in added:
            for outcome in ("ok", "refused.call", "upstream.unavailable"):
                self._metrics["tool_calls_total"].labels(server, outcome)

    def _create_zero_series(self) -> None:
        """Creates the series that alerts watch, with value 0: a first burst counts as an increase only after an earlier value."""
        for status in ("ok", "failed", "crashed", "limited", "sandbox.unavailable", "store.unavailable"):
            self._metrics["code_executions_total"].labels(status)
        for status in ("200", "429", "500", "503"):
            self._metrics["http_requests_total"].labels("/execute", status)
        for rule in ("limit.seconds", "limit.memory_mb"):
            self._metrics["security_events_total"].labels(rule)
        for result in ("hit", "miss"):
            self._metrics["cache_requests_total"].labels(result)

    def count_execution(self, status: str, *, seconds: float, memory_mb: float) -> None:
        """Counts an execution that ended."""
        self._metrics["code_executions_total"].labels(status).inc()
        self._metrics["code_execution_duration_seconds"].observe(seconds)
        self._metrics["code_execution_memory_mb"].observe(memory_mb)
        self._metrics["code_execution_memory_bytes"].observe(memory_mb * 1_000_000)

    def count_saved_tokens(self, tokens: int) -> None:
        """Counts what an execution or a search saved in tokens, negative if it cost more."""
        self._metrics["code_execution_token_savings"].inc(tokens)

    def count_call(self, server: str, outcome: str, *, seconds: float) -> None:
        """Counts a tool call that ended. Code may name any server, so all servers that do not exist share one label."""
        server = server if server in self._servers else UNKNOWN_SERVER
        self._metrics["tool_calls_total"].labels(server, outcome).inc()
        self._metrics["tool_call_duration_seconds"].labels(server).observe(seconds)

    def count_approval(self, decision: str) -> None:
        """Counts a decision about a plan: approved, denied or expired."""
        self._metrics["approvals_total"].labels(decision).inc()

    def count_masked(self, kind: str, count: int = 1) -> None:
        """Counts values of one kind that were masked."""
        self._metrics["masked_values_total"].labels(kind).inc(count)

    def count_cache_request(self, *, hit: bool) -> None:
        """Counts a read that may be cached, and whether the cache answered it."""
        self._metrics["cache_requests_total"].labels("hit" if hit else "miss").inc()

    def count_security_event(self, rule: str) -> None:
        """Counts a security record."""
        self._metrics["security_events_total"].labels(rule).inc()

    def count_broken_off(self, status: str) -> None:
        """Counts an execution that ended without an outcome: cancelled, or by an internal error whose code is its status."""
        self._metrics["code_executions_total"].labels(status).inc()

    def count_http_request(self, route: str, status: int) -> None:
        """Counts an HTTP request that was answered."""
        self._metrics["http_requests_total"].labels(route, str(status)).inc()

    def render(self) -> bytes:
        """Returns the exposition in the text format that every scraper reads."""
        if self._pool is not None:
            gauge = self._metrics["sandbox_pool_children"]
            gauge.clear()  # a state without sandboxes must not keep its last count
            for state, count in self._pool().items():
                gauge.labels(state).set(count)
        self._metrics["clock_trusted"].set(self._clock_trusted())
        # The library adds the creation time of each series. Its off switch is global, and the process may run other code too.
        lines = generate_latest(self.registry).splitlines(keepends=True)
        return b"".join(line for line in lines if not _CREATED.match(line))


def _create_metric(metric: Metric, registry: CollectorRegistry) -> Any:
    if metric.shape == "histogram":
        return Histogram(metric.name, metric.meaning, metric.labels, registry=registry, buckets=metric.buckets)
    kind = Counter if metric.shape == "counter" else Gauge
    return kind(metric.name, metric.meaning, metric.labels, registry=registry)
