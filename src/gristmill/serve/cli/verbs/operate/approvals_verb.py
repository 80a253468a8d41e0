"""``gristmill approvals``: lists plans of calls that wait for approval, and approves or denies them."""

import getpass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gristmill.errors import Refused
from gristmill.runtime.open.open_approvals import Approval, Approvals, open_approvals
from gristmill.runtime.values.approval_values import RuleScope, StandingRule
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout
from gristmill.serve.cli.terminal.show_plan import explain_cut, parse_numbers, print_plan
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json

app = typer.Typer(invoke_without_command=True, help="List the plans that wait for approval; show, approve or deny one.")

Id = Annotated[str, typer.Argument(help="The id of the plan, such as `ap_0f8c...`.", metavar="ID")]
By = Annotated[str | None, typer.Option(help="Who decides, for the audit; default is your user name.")]
Every = Annotated[bool, typer.Option("--all", help="Also show decided and expired plans.")]


@app.callback()
def waiting(context: typer.Context, every: Every = False, json: Json = False, config: ConfigFile = None) -> None:
    """List the plans that wait for approval; show, approve or deny one.

    Example: `gristmill approvals`
    """
    if context.invoked_subcommand is None:
        _print_approvals(every=every, json=json, config=config)


@app.command("list")
def list_(every: Every = False, json: Json = False, config: ConfigFile = None) -> None:
    """List the plans that wait for approval, newest first.

    Example: `gristmill approvals list --all`
    """
    _print_approvals(every=every, json=json, config=config)


@app.command()
def show(
    id: Id,  # noqa: A002 - the record's own word
    whole: Annotated[bool, typer.Option("--whole", help="Do not cut long arguments.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show one plan: its calls by tool, their arguments (personal data masked) and what they would change.

    Example: `gristmill approvals show ap_0f8c...`
    """
    found = use_opened(open_approvals, config, lambda inbox: inbox.get(id))
    if json:
        _print_json(found)
        return
    stdout().print(_format_headline(found))
    print_plan(stdout(), found.plan, whole=whole)


@app.command()
def approve(
    id: Id,  # noqa: A002 - the record's own word
    only: Annotated[str | None, typer.Option(help="Approve only these calls, such as `1,3-5`; the others are denied.")] = None,
    always: Annotated[
        Literal["session", "caller"] | None,
        typer.Option(help="Also allow the tools of the approved calls from now on, in this session or for this caller."),
    ] = None,
    by: By = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Approve a plan, or some of its calls. The approval is for exactly these calls, once, until it expires.

    A call whose arguments `show` cuts is approved by its number only: read it with `show --whole` first.

    Example: `gristmill approvals approve ap_0f8c... --only 1,3`
    """
    try:
        chosen = "all" if only is None else parse_numbers(only)
    except ValueError:
        raise typer.BadParameter(f"{only!r} is not a list of numbers such as 1,3-5", param_hint="--only") from None
    found = use_opened(open_approvals, config, lambda inbox: inbox.get(id)) if chosen == "all" else None
    if found is not None and found.standing == "pending" and (why := explain_cut(found.plan)):
        raise Refused(why, rule="approval.cut")
    _decide_and_print(config, id, chosen, by, json=json, always=always)


@app.command()
def deny(id: Id, by: By = None, json: Json = False, config: ConfigFile = None) -> None:  # noqa: A002 - the record's own word
    """Deny a plan: its calls are refused when the execution is resumed.

    Example: `gristmill approvals deny ap_0f8c...`
    """
    _decide_and_print(config, id, "none", by, json=json)


@app.command()
def rules(json: Json = False, config: ConfigFile = None) -> None:
    """List the rules that were made while approving, newest first.

    Example: `gristmill approvals rules`
    """
    found = use_opened(open_approvals, config, lambda inbox: inbox.rules.list())
    if json:
        print_json([rule.fields() for rule in found])
        return
    for rule in found:
        stdout().print(neutralize_text(f"{rule.id}  {rule.text} (by {rule.made_by}, {_format_time(rule.created)} UTC)"))


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The id of the rule, as `gristmill approvals rules` shows it.", metavar="ID")],  # noqa: A002
    by: By = None,
    config: ConfigFile = None,
) -> None:
    """Revoke a rule: from now on calls of its tool need approval again.

    Example: `gristmill approvals revoke ar_0f8c...`
    """
    found = use_opened(open_approvals, config, lambda inbox: inbox.rules.revoke(id, by=by or _name_decider()))
    stderr().print(neutralize_text(f"revoked: {found.text}"))


def _decide_and_print(
    config: Path | None, plan: str, chosen: Any, by: str | None, *, json: bool, always: RuleScope | None = None
) -> None:
    who = by or _name_decider()

    async def decide(inbox: Approvals) -> tuple[Approval, tuple[StandingRule, ...]]:
        decided = await inbox.decide(plan, chosen, by=who)
        return decided, await inbox.allow_always(decided, always, by=who) if always else ()

    found, made = use_opened(open_approvals, config, decide)
    for rule in made:
        stderr().print(neutralize_text(f"{rule.id}: {rule.text}"))
    if json:
        _print_json(found)
        return
    asked = sum(call.needs_approval for call in found.plan.calls)
    stdout().print(f"{found.standing}: {len(found.approved)} of {asked} calls")
    stderr().print(f"next: gristmill run --resume {found.execution}", style="dim")


def _print_approvals(*, every: bool, json: bool, config: Path | None) -> None:
    found = use_opened(open_approvals, config, lambda inbox: inbox.list(pending_only=not every))
    if json:
        print_json([_approval_to_json(one) for one in found])
    elif found:
        print_table(_COLUMNS, [_make_row(one) for one in found])


_COLUMNS = (
    Column(title="id", kind="id"), Column(title="standing", kind="fixed"), Column(title="expires (UTC)", kind="fixed", leave=1),
    Column(title="session", kind="id", leave=2), Column(title="caller", leave=3), Column(title="execution", kind="id", leave=4),
    Column(title="calls"),
)  # fmt: skip


def _make_row(one: Approval) -> tuple[str, ...]:
    tools = ", ".join(dict.fromkeys(call.tool for call in one.plan.calls))
    calls = f"{len(one.plan.calls)}: {tools}"
    return one.id, one.standing, _format_time(one.expires), one.session or "", one.owner.caller, one.execution, calls


def _format_headline(one: Approval) -> str:
    session = f" in session {one.session}" if one.session else ""
    decided = f" by {one.decided_by}" if one.decided_by else ""
    asked = f"execution {one.execution} of {one.owner.caller}{session}"
    return neutralize_text(f"{one.standing}{decided} · {asked} · until {_format_time(one.expires)} UTC")


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _approval_to_json(one: Approval) -> dict[str, Any]:
    return one.fields()


def _print_json(one: Approval) -> None:
    print_json(_approval_to_json(one))


def _name_decider() -> str:
    """Returns who decides: the user name on this machine, which the operating system has verified."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"
