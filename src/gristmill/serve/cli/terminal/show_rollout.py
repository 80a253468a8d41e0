"""Prints where a rollout stands, its guardrails, comparisons and simulations for people."""

from collections.abc import Sequence

from gristmill.rollout.check_guardrails import GuardrailFinding
from gristmill.rollout.compare_arms import ArmReport
from gristmill.rollout.compare_tasks import TaskReport
from gristmill.rollout.rollout_state import RolloutStage, RolloutStep
from gristmill.rollout.rollouts import RolloutStatus
from gristmill.rollout.simulate_rollout import Simulation
from gristmill.serve.cli.terminal.print_tables import format_time, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, stdout

_STANDINGS = {"idle": "not begun", "running": "running", "held": "held", "rolled_back": "rolled back"}


def print_status(found: RolloutStatus, steps: Sequence[RolloutStep]) -> None:
    """Prints the stage, what the guardrails show, and the last steps."""
    state = found.state
    line = f"{state.name}: {_STANDINGS[state.standing]}, {state.percent:g} % have a new arm"
    if state.standing in ("running", "held"):
        line += f" (stage {state.stage + 1} of {len(found.stages)}, since {format_time(state.changed)})"
    print_plain(line)
    if not found.is_enabled:
        print_plain("rollout.enabled is false: everybody has the old arm")
    if found.next_at is not None:
        after = found.stages[state.stage + 1].percent
        print_plain(f"from {format_time(found.next_at)} on {after:g} %, if the guardrails have enough conversations and hold")
    if found.findings:
        print_plain("")
        print_findings(found.findings)
    if steps:
        print_plain("")
        rows = [
            (format_time(one.at), one.step, f"{one.from_percent:g} -> {one.percent:g} %", one.by, one.reason) for one in steps
        ]
        print_table(("time (UTC)", "step", "share", "by", "why"), rows)


def print_findings(findings: Sequence[GuardrailFinding]) -> None:
    """Prints each guardrail with its figure, the interval of the true one, and what is missing."""
    rows: list[tuple[str, ...]] = []
    for one in findings:
        interval = "" if one.low is None or one.high is None else f"{one.low:.4g} to {one.high:.4g}"
        said = "REACHED" if one.is_breached else "holds" if one.has_enough else f"{one.conversations} of {one.minimum}"
        figure = "" if one.value is None else f"{one.value:.4g}"
        rows.append((one.when, one.arm, one.then, figure, interval, f"{one.limit:.4g}", said))
    print_table(("guardrail", "arm", "then", "now", "certainly within", "limit", ""), rows)


def print_stages(stages: Sequence[RolloutStage], rates: dict[str, float]) -> None:
    """Prints the stages, and how many conversations an hour there were lately."""
    rows = [
        (str(number), f"{stage.percent:g} %", "until `advance`" if stage.seconds is None else format_duration(stage.seconds))
        for number, stage in enumerate(stages, 1)
    ]
    print_table(("stage", "new arms", "lasts"), rows)
    if rates:
        print_plain("\nconversations an hour lately: " + ", ".join(f"{arm} {rate:.3g}" for arm, rate in rates.items()))


def print_report(report: ArmReport) -> None:
    """Prints the arms of one stage side by side; a difference counts only where its interval leaves out zero."""
    print_plain(
        f"{report.rollout} at {report.percent:g} %, {format_time(report.since)} to {format_time(report.until)}; "
        f"all statements together are certain to {report.confidence * 100:g} %"
    )
    for arm in report.arms:
        ended = ", ".join(f"{count} {status}" for status, count in arm.statuses.items())
        thumbs = "".join(f", {count} thumbs {way}" for way, count in arm.thumbs.items())
        print_plain(f"{arm.arm}: {arm.conversations} conversations ({ended or 'none'}{thumbs})")
    rows = [
        (
            one.arm, one.figure, f"{one.old:.4g}", f"{one.new:.4g}",
            "" if one.low is None or one.high is None else f"{one.low:+.4g} to {one.high:+.4g}", one.verdict,
            "" if one.needed is None else f"{one.needed:,} more conversations",
        )
        for one in report.differences
    ]  # fmt: skip
    print_plain("")
    print_table(("arm", "figure", "old", "new", "difference", "", "to be certain"), rows)


def print_simulation(found: Simulation) -> None:
    """Prints what would have happened, and when."""
    print_plain(f"{found.outcomes} conversations in {format_duration(found.seconds)}")
    rows = [
        (
            format_duration(step.seconds), step.step, f"{step.percent:g} %", step.reason,
            ", ".join(f"{arm} {step.failed[arm]}/{count}" for arm, count in step.conversations.items()),
        )
        for step in found.steps
    ]  # fmt: skip
    print_table(("after", "step", "share", "why", "failed/conversations"), rows)
    print_plain(f"at the end: {_STANDINGS[found.standing]}, {found.percent:g} %")
    if found.findings:
        print_findings(found.findings)


def print_task_report(report: TaskReport, worst: int) -> None:
    """Prints both arms side by side, and the cases that got worse."""
    print_plain(
        f"{len(report.tasks)} questions, {report.old} and {report.new}; certain to {report.confidence * 100:g} % together"
    )
    rows = [
        (
            one.figure, f"{one.old:.4g}", f"{one.new:.4g}",
            "" if one.low is None or one.high is None else f"{one.low:+.4g} to {one.high:+.4g}", one.verdict,
        )
        for one in report.differences
    ]  # fmt: skip
    print_table(("of a conversation", report.old, report.new, "difference", ""), rows)
    worse = [
        task
        for task in report.tasks
        if (task.new.accuracy or 0) < (task.old.accuracy or 0)
        or (task.old.status == "answered" and task.new.status != "answered")
        or task.new.tokens > task.old.tokens
    ]
    if not worse[:worst]:
        return
    print_plain(f"\n{len(worse)} got worse, the worst first:")
    shown = [
        (
            task.id, task.message[:60], f"{_show_score(task.old.accuracy)} -> {_show_score(task.new.accuracy)}",
            f"{task.old.status} -> {task.new.status}", f"{task.old.tokens:,} -> {task.new.tokens:,}",
            (task.new.problem or "")[:80],
        )
        for task in worse[:worst]
    ]  # fmt: skip
    print_table(("case", "question", "right", "status", "tokens", ""), shown)


def _show_score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2g}"


def format_duration(seconds: float) -> str:
    """Formats a duration with its largest unit."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g}{unit}"
    return f"{seconds:.3g}s"


def print_plain(text: str) -> None:
    """Prints a line with control characters escaped."""
    stdout().print(neutralize_text(text))
