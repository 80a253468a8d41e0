"""Metrics have the promised names, count what they say, and each runtime has its own."""

import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from gristmill.ledger.metrics import METRICS, NoMetrics, PlanFigures
from gristmill.ledger.prometheus_metrics import Metrics
from tests.servers.prometheus import promtool

PROMISED = {
    "code_executions_total", "code_execution_duration_seconds", "code_execution_memory_mb", "code_execution_token_savings",
}  # fmt: skip
KNOWN_LINT = {"code_execution_memory_mb"}
"""The name is promised; its twin in bytes pleases the linter."""


def used() -> Metrics:
    metrics = Metrics(pool=lambda: {"warm": 3, "leased": 1}, sizes={"concurrency": 32}, servers=["crm"])
    metrics.count_execution("ok", seconds=0.2, memory_mb=20.0)
    metrics.count_saved_tokens(500)
    metrics.count_execution("failed", seconds=0.1, memory_mb=10.0)
    metrics.count_saved_tokens(-200)
    metrics.count_call("crm", "ok", seconds=0.01)
    metrics.count_approval("approved")
    metrics.count_masked("email", 3)
    metrics.count_cache_request(hit=True)
    metrics.count_security_event("policy.deny")
    metrics.count_broken_off("sandbox.unavailable")
    metrics.count_http_request("/execute", 503)
    return metrics


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def test_what_is_counted_is_shown_under_the_promised_names() -> None:
    found = samples(used())
    assert {metric.name for metric in METRICS} >= PROMISED
    assert {
        ("code_executions_total", "ok"): 1.0,
        ("code_executions_total", "failed"): 1.0,
        ("code_execution_duration_seconds_count",): 2.0,
        ("code_execution_memory_mb_sum",): 30.0,
        ("code_execution_memory_bytes_sum",): 30_000_000.0,
        ("code_execution_token_savings",): 300.0,
        ("tool_calls_total", "ok", "crm"): 1.0,
        ("tool_call_duration_seconds_count", "crm"): 1.0,
        ("sandbox_pool_children", "warm"): 3.0,
        ("sandbox_pool_children", "leased"): 1.0,
        ("sandbox_pool_size", "concurrency"): 32.0,
        ("approvals_total", "approved"): 1.0,
        ("masked_values_total", "email"): 3.0,
        ("cache_requests_total", "hit"): 1.0,
        ("security_events_total", "policy.deny"): 1.0,
        ("code_executions_total", "sandbox.unavailable"): 1.0,
        ("http_requests_total", "/execute", "503"): 1.0,
    }.items() <= found.items()


def test_two_runtimes_do_not_count_together() -> None:
    used()
    assert samples(Metrics())["code_executions_total", "ok"] == 0


def test_a_server_that_code_invents_is_no_label_of_its_own() -> None:
    metrics = Metrics(servers=["crm"])
    for number in range(100):
        metrics.count_call(f"invented{number}", "not_found.tool", seconds=0.1)
    found = samples(metrics)
    assert found["tool_calls_total", "not_found.tool", "unknown"] == 100
    assert not [name for name in found if any("invented" in part for part in name)]


def test_what_alerts_look_at_is_there_before_it_happens() -> None:
    found = samples(Metrics(servers=["crm"]))
    begins = [
        ("tool_calls_total", "refused.call", "crm"), ("code_executions_total", "sandbox.unavailable"),
        ("http_requests_total", "/execute", "500"), ("security_events_total", "limit.memory_mb"),
    ]  # fmt: skip
    assert [found[name] for name in begins] == [0.0] * len(begins)


def test_a_pool_state_that_is_gone_is_not_shown_with_its_last_count() -> None:
    states = {"warm": 3}
    metrics = Metrics(pool=lambda: states)
    metrics.render()
    states.clear()
    assert ("sandbox_pool_children", "warm") not in samples(metrics)


def test_a_conversation_counts_once_and_its_first_program_too() -> None:
    metrics = Metrics()
    for conversation, used_code in (("a", False), ("a", True), ("a", True), ("b", False)):
        metrics.count_turn(conversation, used_code=used_code)
    found = samples(metrics)
    assert (found["conversations_total",], found["conversations_with_code_total",]) == (2, 1)


def test_plans_that_wait_are_no_number_until_the_store_says_it() -> None:
    metrics = Metrics()
    assert samples(metrics)["approvals_pending",] != samples(metrics)["approvals_pending",], "not a number"
    metrics.set_waiting_plans(PlanFigures(pending=2, oldest_seconds=40.0, expiring=1))
    found = samples(metrics)
    figures = ("approvals_pending", "approvals_oldest_seconds", "approvals_expiring")
    assert [found[name,] for name in figures] == [2, 40, 1]


def test_a_server_that_was_removed_is_not_shown_as_down() -> None:
    states = {"crm": False, "mail": True}
    metrics = Metrics(reachable=lambda: states)
    found = samples(metrics)
    assert (found["server_up", "crm"], found["server_up", "mail"]) == (0, 1)
    del states["crm"]
    assert ("server_up", "crm") not in samples(metrics)


def test_the_linter_of_prometheus_objects_to_nothing_but_the_known_name() -> None:
    done = subprocess.run([promtool(), "check", "metrics"], input=used().render(), capture_output=True, timeout=60, check=False)
    complaints = (done.stdout + done.stderr).decode().splitlines()
    assert {line.split()[0] for line in complaints if line.strip()} == KNOWN_LINT, complaints


def test_counting_that_is_off_imports_nothing() -> None:
    program = "import sys, gristmill.ledger.metrics as m; m.NoMetrics().count_execution('ok', seconds=1, memory_mb=1); "
    done = subprocess.run(
        [sys.executable, "-c", program + "print('prometheus_client' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_counting_that_is_off_takes_every_call_that_counting_takes() -> None:
    public = {name for name in vars(Metrics) if not name.startswith("_")}
    assert public <= set(dir(NoMetrics))
