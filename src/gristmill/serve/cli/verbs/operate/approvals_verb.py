"""``gristmill approvals``: the plans that wait for a person, and the person's answer."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.runtime.open.open_approvals import Approval, Approvals

app = typer.Typer(
    invoke_without_command=True, help="Plans that wait for approval: look at them, approve all or some of their calls, deny them."
)

Id = Annotated[str, typer.Argument(help="The id of the approval, `ap_...`.", metavar="ID")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
By = Annotated[str | None, typer.Option(help="Who decides, for the record; default is your user name.")]
Every = Annotated[bool, typer.Option("--all", help="Show decided and expired ones too.")]
T = TypeVar("T")


@app.callback()
def waiting(context: typer.Context, every: Every = False, json: Json = False, config: ConfigFile = None) -> None:
    """Without a verb: list the plans that wait.

    Example: `gristmill approvals`
    """
    if context.invoked_subcommand is None:
        _list(every=every, json=json, config=config)


@app.command("list")
def list_(every: Every = False, json: Json = False, config: ConfigFile = None) -> None:
    """List the plans that wait, the newest first.

    Example: `gristmill approvals list --all`
    """
    _list(every=every, json=json, config=config)


@app.command()
def show(id: Id, json: Json = False, config: ConfigFile = None) -> None:  # noqa: A002 - the record's own word
    """Show one plan: its calls by tool, their arguments with masks in place of personal data, and what would change.

    Example: `gristmill approvals show ap_0f8c...`
    """
    from gristmill.serve.cli.terminal.safe_output import stdout
    from gristmill.serve.cli.terminal.show_plan import print_plan

    found = _ask(config, lambda inbox: inbox.get(id))
    if json:
        _print_json(found)
        return
    stdout().print(_headline(found), markup=False)
    print_plan(stdout(), found.plan)


@app.command()
def approve(
    id: Id,  # noqa: A002 - the record's own word
    only: Annotated[
        str | None, typer.Option(help="Only these calls of the plan, such as `1,3-5`; all others are denied.")
    ] = None,
    by: By = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Approve a plan, or some of its calls. It counts once, for exactly these calls, until it expires.

    Example: `gristmill approvals approve ap_0f8c... --only 1,3`
    """
    from gristmill.serve.cli.terminal.show_plan import numbers

    try:
        chosen = "all" if only is None else numbers(only)
    except ValueError:
        raise typer.BadParameter(f"{only!r} is not like 1,3-5", param_hint="--only") from None
    _decide(config, id, chosen, by, json=json)


@app.command()
def deny(id: Id, by: By = None, json: Json = False, config: ConfigFile = None) -> None:  # noqa: A002 - the record's own word
    """Deny a plan: its calls are refused when the run goes on.

    Example: `gristmill approvals deny ap_0f8c...`
    """
    _decide(config, id, "none", by, json=json)


def _decide(config: Path | None, id: str, chosen: Any, by: str | None, *, json: bool) -> None:  # noqa: A002
    from gristmill.serve.cli.terminal.safe_output import stderr, stdout

    found = _ask(config, lambda inbox: inbox.decide(id, chosen, by=by or _user()))
    if json:
        _print_json(found)
        return
    asked = sum(call.needs_approval for call in found.plan.calls)
    stdout().print(f"{found.standing}: {len(found.approved)} of {asked} calls", markup=False)
    stderr().print(f"go on with: gristmill run --resume {found.execution}", style="dim", markup=False)


def _list(*, every: bool, json: bool, config: Path | None) -> None:
    from gristmill.serve.cli.terminal.safe_output import print_json, stdout

    found = _ask(config, lambda inbox: inbox.list(pending_only=not every))
    if json:
        print_json([_fields(one) for one in found])
    elif found:
        stdout().print(_table(found))


def _table(found: "tuple[Approval, ...]") -> Any:
    from rich.markup import escape
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless

    table = Table("id", "standing", "expires (UTC)", "session", "caller", "execution", "calls", box=None, pad_edge=False)
    for one in found:
        tools = ", ".join(dict.fromkeys(call.tool for call in one.plan.calls))
        texts = (
            one.standing,
            _when(one.expires),
            one.session or "",
            one.caller,
            one.execution,
            f"{len(one.plan.calls)}: {tools}",
        )
        table.add_row(one.id, *(escape(harmless(text)) for text in texts))
    return table


def _headline(one: "Approval") -> str:
    from gristmill.serve.cli.terminal.safe_output import harmless

    session = f" in session {one.session}" if one.session else ""
    decided = f" by {one.decided_by}" if one.decided_by else ""
    return harmless(
        f"{one.standing}{decided} · execution {one.execution} of {one.caller}{session} · until {_when(one.expires)} UTC"
    )


def _when(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _fields(one: "Approval") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(one)


def _print_json(one: "Approval") -> None:
    from gristmill.serve.cli.terminal.safe_output import print_json

    print_json(_fields(one))


def _user() -> str:
    """Whoever sits at this machine; the machine vouches for the name."""
    import getpass

    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"


def _ask(config: Path | None, question: "Callable[[Approvals], Awaitable[T]]") -> T:
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.runtime.open.open_approvals import open_inbox

    async def answer() -> T:
        async with open_inbox(load_config(config)) as inbox:
            return await question(inbox)

    return asyncio.run(answer())
