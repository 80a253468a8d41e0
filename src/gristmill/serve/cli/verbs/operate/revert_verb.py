"""``gristmill revert``: undoes what a failed execution wrote, after a person has agreed to each call."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gristmill.config.tree import Config, load_config
from gristmill.model import Outcome, Plan
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.safe_output import (
    neutralize_text,
    outcome_to_json,
    print_json,
    stderr,
)
from gristmill.serve.cli.terminal.show_plan import PlanAnswer, ask_at_terminal, print_ending
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile
from gristmill.serve.problem_codes import STATUS_EXIT_CODES

if TYPE_CHECKING:
    from gristmill.runtime.execution.execute import Approve

MOST_KEPT = 20
"""How many writes that stay are printed."""


def revert(
    execution: Annotated[str, typer.Argument(help="The execution whose writes are undone; the beginning of its id suffices.")],
    approve: Annotated[
        Literal["all", "none"] | None, typer.Option(help="Approve or deny all undoing calls, without asking.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Undo what a failed execution wrote, as `policy.revert` says, after you have agreed to each call.

    The last write is undone first, and the first call that fails ends it; what was undone is not undone again. Without a
    terminal the calls wait: decide with `gristmill approvals`, then continue with `gristmill run --resume ID`. Exit codes are
    those of `run`.

    Example: `gristmill revert 4f1c --approve all`
    """
    outcome = asyncio.run(_revert_and_print(load_config(config, sandbox={"warm": 0}), execution, approve, json=json))
    raise typer.Exit(STATUS_EXIT_CODES[outcome.status])


async def _revert_and_print(config: Config, execution: str, answer: Literal["all", "none"] | None, *, json: bool) -> Outcome:
    async with Runtime.open(config) as runtime:
        await runtime.settled(WAIT_SECONDS)
        found = await runtime.prepare_revert(execution)
        for write in found.kept[: 0 if json else MOST_KEPT]:
            stderr().print(f"stays: {neutralize_text(f'{write.tool}: {write.reason}')}", style="yellow")
        outcome = await runtime.revert(found.execution, approve=_choose_approver(answer, json=json))
    if json:
        print_json(outcome_to_json(outcome))
        return outcome
    print_ending(outcome)
    return outcome


def _choose_approver(answer: Literal["all", "none"] | None, *, json: bool) -> "Approve | None":
    """Returns what decides: the option, the user at the terminal, or None (the calls wait)."""

    async def answer_as_option(_plan: Plan) -> PlanAnswer:
        return answer or "none"

    async def ask_user(plan: Plan) -> PlanAnswer:
        return await asyncio.to_thread(ask_at_terminal, stderr(), plan)

    if answer is not None:
        return answer_as_option
    return ask_user if not json and sys.stdin.isatty() and sys.stderr.isatty() else None
