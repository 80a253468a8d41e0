"""``gristmill rollout``: shows and changes the share of traffic that a new way of working gets."""

import asyncio
import getpass
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from gristmill.config.tree import load_config
from gristmill.errors import ConfigError, Refused
from gristmill.rollout.compare_arms import report_arms
from gristmill.rollout.compare_tasks import read_tasks
from gristmill.rollout.measures import Measure
from gristmill.rollout.open_rollouts import open_rollouts
from gristmill.rollout.rollout_state import RolloutState, Step
from gristmill.rollout.rollouts import Rollouts
from gristmill.rollout.simulate_rollout import Simulation, make_up_outcomes, simulate_rollout
from gristmill.serve.cli.terminal.load_judge import load_judge
from gristmill.serve.cli.terminal.print_tables import print_table
from gristmill.serve.cli.terminal.safe_output import print_json
from gristmill.serve.cli.terminal.show_rollout import (
    print_plain,
    print_report,
    print_simulation,
    print_stages,
    print_status,
    print_task_report,
)
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json

app = typer.Typer(no_args_is_help=True, help="Compare ways of working on real traffic, and move to the better one in stages.")

By = Annotated[str | None, typer.Option(help="Who decides, for the history; default is your user name.")]
Reason = Annotated[str, typer.Option(help="Why, for the history.")]
CHAT_PACKAGES = ("langchain", "langchain_core")
SHOWN_STEPS = 10
MOST_MADE_UP = 200_000


@app.command()
def status(json: Json = False, config: ConfigFile = None) -> None:
    """Show the stage, what each guardrail shows now, and the last steps.

    Example: `gristmill rollout status`
    """

    async def read(opened: Rollouts) -> Any:
        found = await opened.describe()
        return found, await opened.steps.list_steps(found.state.name)

    found, steps = use_opened(open_rollouts, config, read)
    if json:
        print_json({**to_builtins(found), "steps": to_builtins(steps)})
        return
    print_status(found, steps[:SHOWN_STEPS])


@app.command()
def plan(json: Json = False, config: ConfigFile = None) -> None:
    """Show arms, stages and guardrails as they are configured, and how many conversations they would have.

    Example: `gristmill rollout plan`
    """

    async def read(opened: Rollouts) -> Any:
        name, now = (await opened.read_state()).name, time.time()
        sums = await opened.outcomes.read_sums(name, Measure(name="error_rate"), now - 86_400, now)
        return opened.stages, opened.guardrails, {arm: one.count / 24 for arm, one in sums.items()}

    stages, guardrails, rates = use_opened(open_rollouts, config, read)
    settings = load_config(config).rollout
    if json:
        arms = {name: arm.model_dump() for name, arm in settings.arms.items()}
        print_json(
            {
                "name": settings.name, "by": settings.by, "baseline": settings.baseline, "arms": arms,
                "stages": to_builtins(stages), "guardrails": to_builtins(guardrails), "conversations_per_hour": rates,
            }
        )  # fmt: skip
        return
    rows = [
        (name, arm.mode, arm.model or "", "old" if name == settings.baseline else f"weight {arm.weight:g}")
        for name, arm in settings.arms.items()
    ]
    print_plain(f"{settings.name}, by {settings.by}\n")
    print_table(("arm", "mode", "model", ""), rows)
    print_plain("")
    print_stages(stages, rates)
    if guardrails:
        print_plain("")
        shown = [(rail.when, f"{rail.window:g} s", str(rail.minimum), rail.then) for rail in guardrails]
        print_table(("guardrail", "window", "minimum", "then"), shown)


@app.command()
def start(by: By = None, reason: Reason = "", json: Json = False, config: ConfigFile = None) -> None:
    """Begin with the first stage; go on where the rollout is held; begin anew after a rollback.

    Example: `gristmill rollout start`
    """
    _take_step("start", by, reason, json=json, config=config)


@app.command()
def advance(by: By = None, reason: Reason = "", json: Json = False, config: ConfigFile = None) -> None:
    """Go to the next stage now.

    Example: `gristmill rollout advance --reason "figures of Monday"`
    """
    _take_step("advance", by, reason, json=json, config=config)


@app.command()
def hold(by: By = None, reason: Reason = "", json: Json = False, config: ConfigFile = None) -> None:
    """Stay in this stage until `start` or `advance`; guardrails still go back or roll back.

    Example: `gristmill rollout hold`
    """
    _take_step("hold", by, reason, json=json, config=config)


@app.command()
def rollback(
    one_stage: Annotated[bool, typer.Option("--one-stage", help="Only go back one stage, and hold there.")] = False,
    by: By = None,
    reason: Reason = "",
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Give everybody the old arm at once, in every process of this store; it stays so until `start`.

    Example: `gristmill rollout rollback --reason "complaints"`
    """
    _take_step("back" if one_stage else "rollback", by, reason, json=json, config=config)


@app.command()
def report(
    hours: Annotated[float | None, typer.Option(help="Look back so far; default is the present stage.", min=0.01)] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Compare the arms in the present stage: better or worse only where chance cannot explain it, however often you look.

    Example: `gristmill rollout report`
    """
    now = time.time()
    since = None if hours is None else now - hours * 3_600
    found = use_opened(open_rollouts, config, lambda opened: report_arms(opened, since=since, now=now))
    if json:
        print_json(to_builtins(found))
        return
    print_report(found)


@app.command()
def simulate(
    error: Annotated[
        list[str], typer.Option(help="Make up conversations with this share of failures, such as `code=5%`; once for each arm.")
    ] = [],  # noqa: B006
    conversations: Annotated[int, typer.Option(help="How many to make up.", min=10, max=MOST_MADE_UP)] = 5_000,
    hours: Annotated[float, typer.Option(help="Over how much time; or how far back to replay.", min=0.01)] = 24.0,
    seed: Annotated[int, typer.Option(help="Another number makes up other conversations.", min=0)] = 0,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Replay recorded outcomes (or made-up ones) at accelerated time: when would it have grown, held or gone back?

    Example: `gristmill rollout simulate --error direct=0.5% --error code=5%`
    """
    errors = dict(_parse_share(text) for text in error)

    async def play(opened: Rollouts) -> Simulation:
        name, now = (await opened.read_state()).name, time.time()
        if unknown := sorted(set(errors) - set(opened.config.arms)):
            raise Refused(f"there is no arm {unknown[0]!r}; the arms are {', '.join(opened.config.arms)}", rule="rollout.arm")
        if errors:
            made = make_up_outcomes(opened.config, errors, conversations=conversations, seconds=hours * 3_600, seed=seed)
        else:
            made = await opened.outcomes.list_outcomes(name, now - hours * 3_600, now)
        return await simulate_rollout(opened.config, made)

    found = use_opened(open_rollouts, config, play)
    if json:
        print_json(to_builtins(found))
        return
    print_simulation(found)


@app.command()
def compare(
    tasks: Annotated[
        Path,
        typer.Argument(help='Questions, one JSON object a line: `{"message": "...", "expected": ["..."]}`.', metavar="TASKS"),
    ],
    arms: Annotated[str, typer.Option(help="The old and the new arm: of the configuration, or modes.")] = "direct,code",
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model; default is `chat.model`.")] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of a service that speaks OpenAI's protocol.")] = None,
    worst: Annotated[int, typer.Option(help="How many of the cases that got worse are shown.", min=0)] = 10,
    judge: Annotated[
        str | None,
        typer.Option(help="A Python function that says how right an answer is: FILE.py:FUNCTION or MODULE:FUNCTION."),
    ] = None,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Ask the same questions both ways, offline: tokens, time, accuracy, money, and the cases that got worse first.

    Example: `gristmill rollout compare tasks.jsonl --arms direct,code --model openai:gpt-5`
    """
    old, _, new = (part.strip() for part in arms.partition(","))
    if not old or not new or "," in new or old == new:
        raise Refused("--arms takes two arms, such as direct,code", rule="rollout.arms")
    asked, judged_by = read_tasks(tasks), None if judge is None else load_judge(judge)
    if missing := [name for name in CHAT_PACKAGES if find_spec(name) is None]:
        raise ConfigError(f"{missing[0]} is not installed: run pip install 'gristmill[chat]'")
    # It loads LangChain, which is missing without the extra, and which the other verbs do not need.
    from gristmill.serve.cli.terminal.answer_tasks import answer_tasks

    found = asyncio.run(answer_tasks(config, asked, (old, new), model, base_url, quiet=json, judge=judged_by))
    if json:
        print_json(to_builtins(found))
        return
    print_task_report(found, worst)


def _take_step(step: Step, by: str | None, reason: str, *, json: bool, config: Path | None) -> None:
    async def change(opened: Rollouts) -> RolloutState:
        return await opened.take_step(step, by=by or getpass.getuser(), reason=reason)

    state = use_opened(open_rollouts, config, change)
    if json:
        print_json(to_builtins(state))
        return
    print_plain(f"{state.name}: {state.standing.replace('_', ' ')}, {state.percent:g} % have a new arm")


def _parse_share(text: str) -> tuple[str, float]:
    arm, _, number = text.partition("=")
    try:
        share = float(number.rstrip(" %")) / (100 if number.rstrip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not arm or not 0 <= share <= 1:
        raise Refused(f"{text[:80]!r} is not an arm with a share: write `code=5%`", rule="rollout.error")
    return arm, share
