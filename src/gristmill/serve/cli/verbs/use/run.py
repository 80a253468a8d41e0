"""``gristmill run``: one program in the sandbox."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from gristmill.model import Plan
    from gristmill.runtime.execution.execute import Approve

ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file; default ./gristmill.toml if there is one.")
]


def run(
    file: Annotated[
        str | None,
        typer.Argument(help="The program, or - for standard input; with --resume it may be left out.", metavar="FILE|-"),
    ] = None,
    session: Annotated[str | None, typer.Option(help="Run in this session: its files are kept between runs.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds it may take.", min=0.01)] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Megabytes of memory it may use.", min=16)] = None,
    strategy: Annotated[
        Literal["summarize", "head_tail", "sample", "schema_only", "full"] | None,
        typer.Option(help="What is shown of that which does not fit; default `shaping.strategy`."),
    ] = None,
    approve: Annotated[
        Literal["all", "none"] | None, typer.Option(help="Answer every question about calls that need approval.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="Take up this execution: calls that succeeded in it are not made again.", metavar="ID")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Run a Python program in the sandbox and print its outcome.

    The value of the last expression is the result. Exit code 0 means success; 1 the program failed, 2 it was refused,
    3 it met a limit, 4 it crashed, 6 there is no sandbox here, 7 calls of it wait for approval: at a terminal it asks, elsewhere
    `gristmill approvals` decides and `gristmill run --resume ID` goes on.

    Example: `echo 'print(6 * 7)' | gristmill run -`
    """
    import asyncio

    from gristmill.config.tree import load_config
    from gristmill.serve.problem_codes import STATUS_EXIT_CODES

    if file is None and resume is None:
        raise typer.BadParameter("name a program, - for standard input, or an execution to --resume", param_hint="FILE")
    code = read_code(file) if file is not None else None
    asked = {"seconds": timeout, "memory_mb": memory_mb}
    limits = {name: value for name, value in asked.items() if value is not None}
    sandbox: dict[str, Any] = {"warm": 0, **({"limits": limits} if limits else {})}
    how: dict[str, Any] = {"session": session, "resume": resume, "strategy": strategy}
    how["approve"] = _approver(approve, file, json=json)
    outcome = asyncio.run(_execute(load_config(config, sandbox=sandbox), code, how, json=json))
    raise typer.Exit(STATUS_EXIT_CODES[outcome.status])


def read_code(file: str) -> str:
    """The program's text.

    Raises:
        CodeRefused: it cannot be read or is not text.
    """
    from gristmill.errors import CodeRefused
    from gristmill.guard.program.runnable_text import CODE_BYTES

    try:
        if file == "-":
            content = sys.stdin.buffer.read(4 * CODE_BYTES + 1)
        else:
            with open(file, "rb") as source:
                content = source.read(4 * CODE_BYTES + 1)
    except OSError as error:
        raise CodeRefused(f"cannot read {file}: {error.strerror}", rule="code.file") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) > 4 * CODE_BYTES:
            raise CodeRefused(f"{file} is larger than the {CODE_BYTES:,} characters that can be run", rule="code.size") from None
        raise CodeRefused(f"{file} is not UTF-8 text: byte {error.start:,} cannot be read", rule="code.text") from None


def _approver(answer: Literal["all", "none"] | None, file: str | None, *, json: bool) -> "Approve | None":
    """Who decides about calls that need approval: the option, or whoever sits at the terminal; else they wait."""
    from gristmill.serve.cli.terminal.safe_output import stderr
    from gristmill.serve.cli.terminal.show_plan import Answer, ask_at_terminal

    async def as_told(_plan: "Plan") -> Answer:
        return answer or "none"

    import asyncio

    async def at_terminal(plan: "Plan") -> Answer:
        decided = await asyncio.to_thread(ask_at_terminal, stderr(), plan)
        stderr().print("the program runs again with what was decided", style="dim")
        return decided

    if answer is not None:
        return as_told
    is_somebody_there = file != "-" and not json and sys.stdin.isatty() and sys.stderr.isatty()
    return at_terminal if is_somebody_there else None


async def _execute(config: Any, code: str | None, how: dict[str, Any], *, json: bool) -> Any:
    from gristmill.events import Event, OutputWritten
    from gristmill.runtime.runtime import Runtime
    from gristmill.serve.cli.ask_discovery import WAIT
    from gristmill.serve.cli.terminal.safe_output import harmless, outcome_fields, print_json, stderr, stdout, summary
    from gristmill.serve.cli.terminal.show_plan import print_plan

    def show(event: Event) -> None:
        if isinstance(event, OutputWritten) and not json:
            sys.stdout.write(harmless(event.text))
            sys.stdout.flush()

    async with Runtime.open(config) as runtime:
        if config.servers:
            await runtime.settled(WAIT)  # tools that were never listed can be called, but not imported by name
        outcome = await runtime.execute(code, emit=show, **how)
    if json:
        print_json(outcome_fields(outcome))
        return outcome
    if outcome.output and not outcome.output.endswith("\n"):
        sys.stdout.write("\n")
    if outcome.result is not None:
        stdout().print(harmless(_pretty(outcome.result)), markup=False)
    if outcome.error:
        stderr().print(harmless(outcome.error), markup=False, style="red")
    stderr().print(summary(outcome), style="dim")
    if outcome.status == "awaiting_approval" and outcome.plan is not None:
        print_plan(stderr(), outcome.plan)
        stderr().print(f"decide: gristmill approvals approve {outcome.plan.id}   (or deny, or --only 1,3)", markup=False)
        stderr().print(f"then:   gristmill run --resume {outcome.id}", markup=False)
    return outcome


def _pretty(value: Any) -> str:
    from json import dumps

    return value if isinstance(value, str) else dumps(value, indent=2, ensure_ascii=False)
