"""Write the Grafana dashboard that `deploy/compose.yaml` provisions; with ``--check`` only say whether it is up to date."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueColorMode, StackingMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableOption

from gristmill.ledger.metrics import METRICS

FILE = Path(__file__).parents[1] / "deploy" / "grafana" / "dashboards" / "gristmill.json"
SOURCE = DataSourceRef(type_val="prometheus", uid="prometheus")
WINDOW = "[$__rate_interval]"
SELECTOR = re.compile(rf"\b((?:{'|'.join(metric.name for metric in METRICS)})(?:_bucket|_count|_sum)?)\b(?:\{{([^}}]*)\}})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: its queries, each with the words of its legend."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    is_number: bool = False
    stacked: bool = False
    about: str
    """What a person should know to read it."""


def quantile(share: float, metric: str, by: str = "") -> str:
    """A quantile of a histogram over the window."""
    return f"histogram_quantile({share}, sum by (le{by}) (rate({metric}_bucket{WINDOW})))"


def part(metric: str, which: str, *, of: str = "") -> str:
    """What share of a counter's growth (of its series ``of``, if said) has these labels; 0 where it did not grow."""
    some = f"sum(rate({metric}{{{', '.join(filter(None, (which, of)))}}}{WINDOW}))"
    return f"({some} or vector(0)) / (sum(rate({metric}{f'{{{of}}}' if of else ''}{WINDOW})) > 0) or vector(0)"


def choose_instances(query: str) -> str:
    """The query for the instances of the variable alone."""

    def add_label(found: re.Match[str]) -> str:
        return f"{found[1]}{{{', '.join(filter(None, (found[2], INSTANCES)))}}}"

    return SELECTOR.sub(add_label, query)


def ratio(some: str, of: str) -> str:
    """What share one growth is of another; 0 where that did not grow."""
    return f"(sum(rate({some}{WINDOW})) or vector(0)) / (sum(rate({of}{WINDOW})) > 0) or vector(0)"


INSTANCES = 'instance=~"$instance"'
CPU = f"sum(rate(code_execution_cpu_seconds_total{WINDOW}))"
TOKENS = f'sum by (way) (rate(tokens_total{{tenant=~"$tenant", arm=~"$arm"}}{WINDOW}))'
EXECUTIONS = f"scalar(sum(rate(executions_by_use_total{WINDOW})) > 0)"
FAILURES = (
    f'sum by (arm) (rate(arm_outcomes_total{{outcome="failed", arm=~"$arm"}}{WINDOW}))'
    f' / (sum by (arm) (rate(arm_outcomes_total{{arm=~"$arm"}}{WINDOW})) > 0)'
)
DISTANCE = "max by (guardrail, arm) (rollout_guardrail_value) / (max by (guardrail, arm) (rollout_guardrail_limit) > 0)"

FAILED = part("code_executions_total", 'status!~"ok|awaiting_approval"')

ROWS: dict[str, tuple[Panel, ...]] = {
    "At a glance": (
        Panel(title="Executions per second", unit="ops", is_number=True,
              about="Programs that end each second, in all ways.",
              queries=((f"sum(rate(code_executions_total{WINDOW}))", "now"),)),
        Panel(title="Requests that fail for reasons of ours", unit="percentunit", is_number=True,
              about="Answers 5xx of all; probes and scrapes are left out.",
              queries=((part("http_requests_total", 'status=~"5.."', of='route!~".*/(health|ready|metrics)"'), "now"),)),
        Panel(title="Places taken", unit="percentunit", is_number=True,
              about="Executions that run now, of those that may run at the same time.",
              queries=(('sum(sandbox_pool_children{state="busy"}) / sum(sandbox_pool_size{kind="concurrency"})', "now"),)),
        Panel(title="Tokens saved since the start", unit="short", is_number=True,
              about="Against direct tool calls, since each instance began; it falls when code cost more.",
              queries=(("sum(code_execution_token_savings)", "now"),)),
        Panel(title="Executions that succeed", unit="percentunit", is_number=True,
              about="Those that ended well or wait for a person, of all.",
              queries=((f"1 - ({FAILED})", "now"),)),
        Panel(title="Conversations with code", unit="percentunit", is_number=True,
              about="Conversations in which a program of the model ran, of all of the chat and of those that were reported.",
              queries=((ratio("conversations_with_code_total", "conversations_total"), "now"),)),
        Panel(title="Servers that can be reached", unit="percentunit", is_number=True,
              about="Of those that are configured; one that was not needed yet counts as reachable.",
              queries=(("avg(server_up)", "now"),)),
        Panel(title="Clocks that agree", unit="percentunit", is_number=True,
              about="Instances whose clock is not in doubt. Where it is, nothing is deleted as old.",
              queries=(("avg(clock_trusted)", "now"),)),
    ),
    "Executions": (
        Panel(title="By how they ended", unit="ops", stacked=True,
              about="`failed` and `crashed` are programs, `limited` is a limit, names with a dot are errors of ours.",
              queries=((f"sum by (status) (rate(code_executions_total{WINDOW}))", "{{status}}"),)),
        Panel(title="How long they take", unit="s",
              about="Of whole executions, with their tool calls.",
              queries=tuple(
              (quantile(share, "code_execution_duration_seconds"), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))),
        Panel(title="Memory", unit="bytes",
              about="Peak memory of a program.",
              queries=tuple(
              (quantile(share, "code_execution_memory_bytes"), f"p{share * 100:.0f}") for share in (0.5, 0.95))),
        Panel(title="CPU seconds a second", unit="short",
              about="How many cores programs use, of all instances, and on average by an execution.",
              queries=((CPU, "cores"),
                       (f"{CPU} / (sum(rate(code_executions_total{WINDOW})) > 0)", "seconds of an execution"))),
        Panel(title="Sandboxes", unit="short", stacked=True,
              about="Waiting, busy with a program, or kept for a session.",
              queries=(("sum by (state) (sandbox_pool_children)", "{{state}}"),)),
    ),
    "Tool calls": (
        Panel(title="By server and how they ended", unit="ops", stacked=True,
              about="`unknown` is a server that is not configured.",
              queries=((f"sum by (server, outcome) (rate(tool_calls_total{WINDOW}))", "{{server}} {{outcome}}"),)),
        Panel(title="How long they take (p95)", unit="s",
              about="One call in twenty takes longer.",
              queries=((quantile(0.95, "tool_call_duration_seconds", ", server"), "{{server}}"),)),
        Panel(title="Answered by the cache", unit="percentunit",
              about="Reads of one program that were answered without a call.",
              queries=((part("cache_requests_total", 'result="hit"'), "hits"),)),
        Panel(title="Plans by what was decided", unit="ops", stacked=True,
              about="Plans that a person approved or denied.",
              queries=((f"sum by (decision) (rate(approvals_total{WINDOW}))", "{{decision}}"),)),
        Panel(title="Plans that wait for a person", unit="short",
              about="All of the store, and those that have less than a quarter of their time left.",
              queries=(("max(approvals_pending)", "waiting"), ("max(approvals_expiring)", "about to expire"))),
        Panel(title="How long the oldest plan has waited", unit="s", about="0 if none waits.",
              queries=(("max(approvals_oldest_seconds)", "oldest"),)),
        Panel(title="Servers that cannot be reached", unit="short",
              about="Also servers that nobody calls: 1 for each that is down.",
              queries=(("1 - min by (server) (server_up)", "{{server}}"),)),
    ),
    "Tokens and money": (
        Panel(title="Tokens of an execution, with code and with direct calls", unit="short",
              about="Before and after: direct calls are what the same work would have cost by the token accounts.",
              queries=((f"{TOKENS} / {EXECUTIONS}", "{{way}}"),)),
        Panel(title="Dollars an hour", unit="currencyUSD",
              about="At the price of the variable: dollars for a million tokens.",
              queries=((f"{TOKENS} * 3600 * $price / 1e6", "{{way}}"),)),
        Panel(title="Dollars of an execution", unit="currencyUSD", about="At `records.token_price` of the service.",
              queries=((f'sum by (way) (rate(cost_dollars_total{{arm=~"$arm"}}{WINDOW})) / {EXECUTIONS}', "{{way}}"),)),
        Panel(title="Tokens saved by use since the start", unit="short",
              about="Filtering: little of much came back. Workflow: several tools in one program. Polling: the same call again.",
              queries=(("sum by (use) (tokens_saved_by_use)", "{{use}}"),)),
        Panel(title="Executions by use", unit="ops", stacked=True, about="What programs did, by their calls.",
              queries=((f"sum by (use) (rate(executions_by_use_total{WINDOW}))", "{{use}}"),)),
        Panel(title="Tools used together", unit="short", about="Executions since the start that used exactly these tools.",
              queries=(("topk(10, sum by (tools) (tool_combinations))", "{{tools}}"),)),
        Panel(title="Length of programs in characters", unit="short", about="Models pay for every character that they write.",
              queries=tuple((quantile(share, "code_length_characters"), f"p{share * 100:.0f}") for share in (0.5, 0.95))),
        Panel(title="Errors by type", unit="ops", stacked=True, about="Types of Python by name, all others as `other`.",
              queries=((f"sum by (type) (rate(code_execution_errors_total{WINDOW}))", "{{type}}"),)),
    ),
    "Rollout": (
        Panel(title="Users with a new arm, in percent", unit="percent", is_number=True, about="The stage of the rollout.",
              queries=(("max(rollout_percent)", "now"),)),
        Panel(title="How the rollout stands", unit="short", about="idle, running, held or rolled back.",
              queries=(("max by (standing) (rollout_standing) == 1", "{{standing}}"),)),
        Panel(title="Share of failures by arm", unit="percentunit", about="Turns and executions that failed, of all of the arm.",
              queries=((FAILURES, "{{arm}}"),)),
        Panel(title="Turns and executions by arm", unit="ops", stacked=True, about="How the traffic is shared.",
              queries=((f'sum by (arm) (rate(arm_outcomes_total{{arm=~"$arm"}}{WINDOW}))', "{{arm}}"),)),
        Panel(title="How long they take by arm (p50, p95, p99)", unit="s", about="Latency of the arms side by side.",
              queries=tuple((quantile(share, "arm_outcome_duration_seconds", ", arm"), f"{{{{arm}}}} p{share * 100:.0f}")
                            for share in (0.5, 0.95, 0.99))),
        Panel(title="Guardrails against their limits", unit="short",
              about="1 is the limit. A guardrail acts when chance cannot explain that it is passed, so a little above may hold.",
              queries=((DISTANCE, "{{guardrail}} {{arm}}"),)),
        Panel(title="Guardrails that are reached", unit="short", about="1 where a condition has come true.",
              queries=(("max by (guardrail, arm) (rollout_guardrail_breached)", "{{guardrail}} {{arm}}"),)),
    ),
    "Security and service": (
        Panel(title="Refusals, limits and anomalies", unit="ops", stacked=True,
              about="By the rule that refused, the limit that was reached, or what was unusual.",
              queries=((f"sum by (rule) (rate(security_events_total{WINDOW}))", "{{rule}}"),)),
        Panel(title="Share that is blocked", unit="percentunit",
              about="Programs that were refused before they ran, of all; calls that a rule refused, of all.",
              queries=((part("code_executions_total", 'status="refused"'), "programs"),
                       (part("tool_calls_total", 'outcome=~"refused.*"'), "calls"))),
        Panel(title="Values masked", unit="ops", stacked=True,
              about="Personal data that was replaced by placeholders, by kind.",
              queries=((f"sum by (kind) (rate(masked_values_total{WINDOW}))", "{{kind}}"),)),
        Panel(title="Requests by status", unit="reqps", stacked=True,
              about="Answers over HTTP.",
              queries=((f"sum by (status) (rate(http_requests_total{WINDOW}))", "{{status}}"),)),
        Panel(title="Requests by route", unit="reqps",
              about="Where requests go.",
              queries=((f"sum by (route) (rate(http_requests_total{WINDOW}))", "{{route}}"),)),
    ),
}  # fmt: skip


def build() -> str:
    """The dashboard as Grafana reads it."""
    made = (
        dashboard.Dashboard("Gristmill")
        .uid("gristmill")
        .tags(["gristmill"])
        .description("Executions, tool calls, sandboxes and what was refused. Made by tools/dashboard.py.")
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .readonly()
        .with_variable(_list_labels("instance", "clock_trusted"))
        .with_variable(_list_labels("tenant", "tokens_total"))
        .with_variable(_list_labels("arm", "tokens_total"))
        .with_variable(dashboard.TextBoxVariable("price").label("dollars for a million tokens").default_value("3"))
    )
    for title, panels in ROWS.items():
        made = made.with_row(dashboard.Row(title))
        for panel in panels:
            made = made.with_panel(_picture(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _list_labels(label: str, metric: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(label)
        .query(f"label_values({metric}, {label})")
        .datasource(SOURCE)
        .include_all(True)
        .multi(True)
        .all_value(".*")
        .current(VariableOption(text="All", value="$__all"))
    )


def _picture(panel: Panel) -> "stat.Panel | timeseries.Panel":
    if panel.is_number:
        made = (
            stat.Panel()
            .color_mode(BigValueColorMode.VALUE)
            .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
            .height(4)
        )
    else:
        mode = StackingMode.NORMAL if panel.stacked else StackingMode.NONE
        made = timeseries.Panel().fill_opacity(20 if panel.stacked else 0).stacking(common.StackingConfig().mode(mode)).height(8)
    made = made.title(panel.title).description(panel.about).unit(panel.unit).datasource(SOURCE).span(6 if panel.is_number else 12)
    for number, (query, legend) in enumerate(panel.queries):
        made = made.with_target(
            prometheus.Dataquery().expr(choose_instances(query)).legend_format(legend).ref_id(chr(ord("A") + number))
        )
    return made


def main() -> None:
    """Write or check."""
    text = build()
    if "--check" not in sys.argv:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit("out of date: the dashboard; run `python tools/dashboard.py`")


if __name__ == "__main__":
    main()
