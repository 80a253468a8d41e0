"""Alerts and the dashboard: promtool accepts and tries out the rules, and every metric that is named is one of ours."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from gristmill.ledger.metrics import METRICS
from tests.deploy import runbook
from tests.deploy.contained import DEPLOY, ROOT
from tests.servers.prometheus import promtool

RULES = DEPLOY / "prometheus" / "rules.yml"
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule
]
ASKED_FOR = {"GristmillErrorRate", "GristmillLatency", "GristmillLimitHits", "GristmillDeniedCalls", "GristmillPoolEmpty"}
SHOWN = {metric.name: metric for metric in METRICS}
SELECTOR = re.compile(r"\b([a-z][a-z_]*_[a-z_]+)(?:\{([^}]*)\}|\[|\)|\s|$)")
RECORDED = re.compile(r"gristmill:(\w+):increase\w+")
"""A recorded growth has the labels of its counter."""
WORDS = {"histogram_quantile"}


def check(*words: str) -> None:
    done = subprocess.run([promtool(), *words], cwd=RULES.parent, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def unknown(expression: str) -> list[str]:
    """Names in an expression that are no metrics of ours, and labels that those do not have."""
    found: list[str] = []
    plain = re.sub(r"gristmill:[\w:]+", "", RECORDED.sub(r"\1_total", expression))
    for name, labels in SELECTOR.findall(plain):
        metric = SHOWN.get(name) or SHOWN.get(re.sub(r"_(bucket|count|sum)$", "", name))
        if metric is None:
            found += [name] if name not in WORDS else []
        else:
            found += [
                f"{name}.{label}" for label in re.findall(r"(\w+)\s*[=!]", labels) if label not in (*metric.labels, "instance")
            ]
    return found


def test_prometheus_accepts_the_rules_and_the_configuration() -> None:
    check("check", "rules", RULES.name)
    check("check", "config", "--syntax-only", "prometheus.yml")


def test_each_alert_fires_when_it_should_and_not_otherwise() -> None:
    check("test", "rules", "rules_test.yml")


def test_each_alert_is_tried_out_and_has_its_section_in_the_runbook() -> None:
    names = {alert["alert"] for alert in ALERTS}
    assert names >= ASKED_FOR
    tried: list[dict[str, Any]] = yaml.safe_load((RULES.parent / "rules_test.yml").read_text())["tests"]
    outcomes = {one["name"]: [bool(test["exp_alerts"]) for test in one["alert_rule_test"]] for one in tried}
    assert {name: found for name, found in outcomes.items() if name in names} == {name: [False, True] for name in names}
    # Further ones are of an alert too, and say what is special.
    assert [name for name in outcomes if name.partition(",")[0] not in names] == []
    runbook = (ROOT / "docs" / "guides" / "operations.md").read_text()
    assert [name for name in sorted(names) if f"\n### {name}\n" not in runbook] == []
    assert {alert["annotations"]["runbook"] for alert in ALERTS} == {
        f"docs/guides/operations.md#{name.lower()}" for name in names
    }


def test_rules_speak_only_of_metrics_and_labels_that_the_service_shows() -> None:
    expressions = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert [wrong for expression in expressions for wrong in unknown(expression) if wrong != "up.job"] == []


def test_a_metric_that_there_is_not_would_be_noticed() -> None:
    assert unknown("sum(rate(code_runs_total[5m]))") == ["code_runs_total"]
    assert unknown('tool_calls_total{status="x"} > 1') == ["tool_calls_total.status"]
    assert unknown('sum(gristmill:tool_calls:increase10m{status="x"})') == ["tool_calls_total.status"]


def test_the_dashboard_is_what_its_script_writes_and_shows_only_our_metrics() -> None:
    subprocess.run([sys.executable, str(ROOT / "tools" / "dashboard.py"), "--check"], timeout=60, check=True)
    text = (DEPLOY / "grafana" / "dashboards" / "gristmill.json").read_text()
    board = json.loads(text)
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(expressions) >= len(panels) > 10
    assert [wrong for expression in expressions for wrong in unknown(expression)] == []
    assert not [metric.name for metric in METRICS if metric.name not in text and metric.name != "code_execution_memory_mb"]


def test_every_query_is_of_the_chosen_instances_and_new_panels_say_what_they_show() -> None:
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "gristmill.json").read_text())
    assert [variable["name"] for variable in board["templating"]["list"]] == ["instance", "tenant", "arm", "price"]
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    selectors = [(name, labels) for one in expressions for name, labels in SELECTOR.findall(one) if name not in WORDS]
    assert [name for name, labels in selectors if 'instance=~"$instance"' not in labels] == []
    assert len(selectors) >= len(expressions)
    assert [panel["title"] for panel in panels if not panel.get("description")] == []


def test_a_share_of_nothing_is_shown_as_none_and_not_as_missing() -> None:
    panels = json.loads((DEPLOY / "grafana" / "dashboards" / "gristmill.json").read_text())["panels"]
    shares = {
        panel["title"]: panel["targets"][0]["expr"]
        for panel in panels
        if panel["type"] != "row" and "/ (sum(rate(" in panel["targets"][0]["expr"]
    }
    assert set(shares) == {
        "Requests that fail for reasons of ours", "Answered by the cache", "Executions that succeed", "Conversations with code",
        "Share that is blocked",
    }  # fmt: skip
    assert [
        title for title, expression in shares.items() if not expression.endswith((" > 0) or vector(0)", " > 0) or vector(0))"))
    ] == []


def test_grafana_finds_the_dashboard_and_its_source() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "gristmill.yml").read_text())["providers"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    mounts = dict(mount.split(":")[:2] for mount in compose["services"]["grafana"]["volumes"])
    assert mounts["./grafana/dashboards"] == provider["options"]["path"]
    panels = json.loads((DEPLOY / "grafana" / "dashboards" / "gristmill.json").read_text())["panels"]
    assert {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"} == {source["uid"]}


def test_the_runbooks_alertmanager_is_a_service_that_prometheus_asks(tmp_path: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    (tmp_path / "compose.yaml").write_text(runbook.block("prom/alertmanager"))
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(tmp_path / "compose.yaml"),
    ]
    subprocess.run(command, timeout=60, check=True, capture_output=True)
    ((name, service),) = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"].items()
    assert set(service["networks"]) & set(compose["services"]["prometheus"]["networks"])
    more = runbook.block("alertmanagers:")
    (target,) = yaml.safe_load(more)["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert target.split(":")[0] == name
    file = tmp_path / "prometheus.yml"
    file.write_text((DEPLOY / "prometheus" / "prometheus.yml").read_text() + more)
    check("check", "config", "--syntax-only", str(file))
