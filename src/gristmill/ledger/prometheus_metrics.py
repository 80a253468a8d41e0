"""Counts with the Prometheus library. Imported only when counting is on: the library loads a web server."""

import builtins
import re
from collections import Counter as Counted
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gristmill.ledger.metrics import METRICS, UNKNOWN_SERVER, GuardrailFigures, Metric, NoMetrics, PlanFigures, TokenFigures

MOST_TENANTS, OTHER = 100, "other"
"""How many tenants have a label of their own; the others share one."""
MOST_COMBINATIONS, SHOWN_COMBINATIONS, MOST_COMBINED = 1_000, 20, 8
"""Combinations of tools that are counted, those that are shown, and the tools that one names."""
MOST_CONVERSATIONS = 10_000
"""How many conversations are remembered, so that each counts once."""
STANDINGS = ("idle", "running", "held", "rolled_back")
_ERROR_TYPES = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
) | {"refused", "limited", "LimitExceeded", "Crashed", "ToolError"}
_CREATED = re.compile(rb"(# (HELP|TYPE) )?\w+_created[ {]")


class Metrics(NoMetrics):
    """Counts in a registry of its own. ``pool`` returns how many sandboxes are in each state, ``sizes`` how many there may be.

    ``clock_trusted`` returns whether the clock is not in doubt, ``reachable`` which servers can be reached.
    """

    is_counting = True

    def __init__(
        self,
        pool: Callable[[], Mapping[str, int]] | None = None,
        sizes: Mapping[str, int] | None = None,
        servers: Iterable[str] = (),
        clock_trusted: Callable[[], bool] = lambda: True,
        reachable: Callable[[], Mapping[str, bool]] = dict[str, bool],
    ) -> None:
        self.registry = CollectorRegistry()
        self._pool, self._clock_trusted, self._reachable = pool, clock_trusted, reachable
        self._metrics: dict[str, Any] = {metric.name: _create_metric(metric, self.registry) for metric in METRICS}
        for kind, size in (sizes or {}).items():
            self._metrics["sandbox_pool_size"].labels(kind).set(size)
        self._servers: frozenset[str] = frozenset()
        self._tenants: set[str] = set()
        self._combinations: Counted[str] = Counted()
        self._conversations: OrderedDict[str, bool] = OrderedDict()
        self._waiting: PlanFigures | None = None
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

    def count_cpu(self, seconds: float) -> None:
        """Counts the CPU time of a program."""
        self._metrics["code_execution_cpu_seconds_total"].inc(max(0.0, seconds))

    def count_turn(self, conversation: str, *, used_code: bool) -> None:
        """Counts the conversation of a turn, once, and whether a program ran in it."""
        known = self._conversations.pop(conversation, None)
        if known is None:
            self._metrics["conversations_total"].inc()
        if used_code and not known:
            self._metrics["conversations_with_code_total"].inc()
        self._conversations[conversation] = used_code or bool(known)
        if len(self._conversations) > MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)

    def set_waiting_plans(self, waiting: PlanFigures | None) -> None:
        """Notes the plans that wait for a person; None where that is not known now."""
        self._waiting = waiting

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

    def count_program(self, characters: int, error_type: str | None, tools: frozenset[str]) -> None:
        """Counts the length of a program, the type of its error, and the tools that it used together."""
        self._metrics["code_length_characters"].observe(characters)
        if error_type is not None:
            self._metrics["code_execution_errors_total"].labels(_name_error(error_type)).inc()
        if len(tools) > 1:
            combination = " + ".join(sorted(tools)[:MOST_COMBINED])
            if combination in self._combinations or len(self._combinations) < MOST_COMBINATIONS:
                self._combinations[combination] += 1

    def count_tokens(self, tokens: TokenFigures) -> None:
        """Counts what an execution cost in tokens and money, and what it saved by its use."""
        if tokens.tenant not in self._tenants and len(self._tenants) < MOST_TENANTS:
            self._tenants.add(tokens.tenant)
        tenant = tokens.tenant if tokens.tenant in self._tenants else OTHER
        for way, count in (("code", tokens.code), ("direct", tokens.direct)):
            self._metrics["tokens_total"].labels(way, tokens.arm, tenant).inc(count)
            self._metrics["cost_dollars_total"].labels(way, tokens.arm).inc(count * tokens.dollars_per_token)
        self._metrics["tokens_saved_by_use"].labels(tokens.use).inc(tokens.direct - tokens.code)
        self._metrics["executions_by_use_total"].labels(tokens.use).inc()

    def count_arm_outcome(self, arm: str, *, failed: bool, seconds: float) -> None:
        """Counts a turn or an execution of an arm."""
        self._metrics["arm_outcomes_total"].labels(arm, "failed" if failed else "ok").inc()
        self._metrics["arm_outcome_duration_seconds"].labels(arm).observe(seconds)

    def set_rollout(self, percent: float, standing: str, guardrails: Sequence[GuardrailFigures]) -> None:
        """Notes where the rollout stands and what its guardrails show, in place of what was noted before."""
        self._metrics["rollout_percent"].set(percent)
        for each in STANDINGS:
            self._metrics["rollout_standing"].labels(each).set(each == standing)
        for name in ("value", "limit", "breached"):
            self._metrics[f"rollout_guardrail_{name}"].clear()
        for rail in guardrails:
            if rail.value is not None:
                self._metrics["rollout_guardrail_value"].labels(rail.guardrail, rail.arm).set(rail.value)
            self._metrics["rollout_guardrail_limit"].labels(rail.guardrail, rail.arm).set(rail.limit)
            self._metrics["rollout_guardrail_breached"].labels(rail.guardrail, rail.arm).set(rail.is_breached)

    def render(self) -> bytes:
        """Returns the exposition in the text format that every scraper reads."""
        if self._pool is not None:
            gauge = self._metrics["sandbox_pool_children"]
            gauge.clear()  # a state without sandboxes must not keep its last count
            for state, count in self._pool().items():
                gauge.labels(state).set(count)
        self._metrics["tool_combinations"].clear()
        for combination, count in self._combinations.most_common(SHOWN_COMBINATIONS):
            self._metrics["tool_combinations"].labels(combination).set(count)
        self._metrics["clock_trusted"].set(self._clock_trusted())
        self._metrics["server_up"].clear()  # servers may be removed
        for server, is_up in self._reachable().items():
            self._metrics["server_up"].labels(server).set(is_up)
        for name in ("pending", "oldest_seconds", "expiring"):
            # What is not known now is not a number: an old one could hide a plan that expires.
            figure = float("nan") if self._waiting is None else getattr(self._waiting, name)
            self._metrics[f"approvals_{name}"].set(figure)
        # The library adds the creation time of each series. Its off switch is global, and the process may run other code too.
        lines = generate_latest(self.registry).splitlines(keepends=True)
        return b"".join(line for line in lines if not _CREATED.match(line))


def _name_error(error_type: str) -> str:
    """Returns the label of an error: programs may raise types of any name, and all that are not Python's share one."""
    return error_type if error_type in _ERROR_TYPES else OTHER


def _create_metric(metric: Metric, registry: CollectorRegistry) -> Any:
    if metric.shape == "histogram":
        return Histogram(metric.name, metric.meaning, metric.labels, registry=registry, buckets=metric.buckets)
    kind = Counter if metric.shape == "counter" else Gauge
    return kind(metric.name, metric.meaning, metric.labels, registry=registry)
