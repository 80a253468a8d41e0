"""``gristmill run``: runs one program in the sandbox and prints its outcome."""

import asyncio
import sys
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gristmill.config.tree import load_config
from gristmill.errors import CodeRefused
from gristmill.events import Event, OutputWritten
from gristmill.model import MOST_CODE_CHARACTERS, Language, Plan
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.safe_output import (
    neutralize_text,
    outcome_to_json,
    print_json,
    stderr,
    stdout,
)
from gristmill.serve.cli.terminal.show_plan import PlanAnswer, ask_at_terminal, print_ending
from gristmill.serve.cli.verb_options import WAIT_SECONDS, ConfigFile
from gristmill.serve.problem_codes import STATUS_EXIT_CODES

if TYPE_CHECKING:
    from gristmill.runtime.execution.execute import Approve


def run(
    file: Annotated[
        str | None,
        typer.Argument(help="The program, or - for standard input; optional with --resume.", metavar="FILE|-"),
    ] = None,
    session: Annotated[str | None, typer.Option(help="Run in this session; its files are kept between runs.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds it may take.", min=0.01)] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Megabytes of memory it may use.", min=16)] = None,
    language: Annotated[
        Literal["python", "typescript"] | None,
        typer.Option(help="Language of the program; default: by the file's ending, else recognised."),
    ] = None,
    strategy: Annotated[
        Literal["summarize", "head_tail", "sample", "schema_only", "full"] | None,
        typer.Option(help="How to shorten output that is too long; default `shaping.strategy`."),
    ] = None,
    approve: Annotated[
        Literal["all", "none"] | None, typer.Option(help="Approve or deny all calls that need approval, without asking.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="Resume this execution: calls that succeeded are not made again.", metavar="ID")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Run a program in Python or TypeScript in the sandbox and print its outcome.

    The value of the last expression is the result. Calls that need approval are asked about at a terminal; elsewhere decide with
    `gristmill approvals`, then continue with `gristmill run --resume ID`. Exit codes: 0 success, 1 the program failed, 2 it was
    refused, 3 it hit a limit, 4 it crashed, 6 there is no sandbox, 7 calls wait for approval.

    Example: `echo 'print(6 * 7)' | gristmill run -`
    """
    if file is None and resume is None:
        raise typer.BadParameter("give a program, - for standard input, or --resume ID", param_hint="FILE")
    code = read_code(file) if file is not None else None
    asked = {"seconds": timeout, "memory_mb": memory_mb}
    limits = {name: value for name, value in asked.items() if value is not None}
    sandbox: dict[str, Any] = {"warm": 0, **({"limits": limits} if limits else {})}
    how: dict[str, Any] = {"session": session, "resume": resume, "strategy": strategy}
    how["language"] = language or _guess_language(file)
    how["approve"] = _choose_approver(approve, file, json=json)
    outcome = asyncio.run(_execute_and_print(load_config(config, sandbox=sandbox), code, how, json=json))
    raise typer.Exit(STATUS_EXIT_CODES[outcome.status])


def _guess_language(file: str | None) -> Language | None:
    """Returns the language that the ending of a file's name tells."""
    ending = (file or "").rpartition(".")[2]
    return "typescript" if ending in ("ts", "mts", "js", "mjs") else "python" if ending == "py" else None


def read_code(file: str) -> str:
    """Reads the program's text.

    Raises:
        CodeRefused: the file cannot be read or is not UTF-8 text.
    """
    try:
        if file == "-":
            content = sys.stdin.buffer.read(4 * MOST_CODE_CHARACTERS + 1)
        else:
            with open(file, "rb") as source:
                content = source.read(4 * MOST_CODE_CHARACTERS + 1)
    except OSError as error:
        raise CodeRefused(f"cannot read {file}: {error.strerror}", rule="code.file") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) > 4 * MOST_CODE_CHARACTERS:
            raise CodeRefused(
                f"{file} is larger than the {MOST_CODE_CHARACTERS:,} characters that can be run", rule="code.size"
            ) from None
        raise CodeRefused(f"{file} is not UTF-8 text: byte {error.start:,} cannot be read", rule="code.text") from None


def _choose_approver(answer: Literal["all", "none"] | None, file: str | None, *, json: bool) -> "Approve | None":
    """Returns what decides about calls that need approval: the option, the user at the terminal, or None (the calls wait)."""

    async def answer_as_option(_plan: Plan) -> PlanAnswer:
        return answer or "none"

    async def ask_user(plan: Plan) -> PlanAnswer:
        decided = await asyncio.to_thread(ask_at_terminal, stderr(), plan)
        stderr().print("running the program again with your decision", style="dim")
        return decided

    if answer is not None:
        return answer_as_option
    can_ask = file != "-" and not json and sys.stdin.isatty() and sys.stderr.isatty()
    return ask_user if can_ask else None


async def _execute_and_print(config: Any, code: str | None, how: dict[str, Any], *, json: bool) -> Any:
    def show(event: Event) -> None:
        if isinstance(event, OutputWritten) and not json:
            sys.stdout.write(neutralize_text(event.text))
            sys.stdout.flush()

    async with Runtime.open(config) as runtime:
        if config.servers:
            await runtime.settled(WAIT_SECONDS)  # tools of a server never listed before can be called, but not imported by name
        outcome = await runtime.execute(code, emit=show, **how)
    if json:
        print_json(outcome_to_json(outcome))
        return outcome
    if outcome.output and not outcome.output.endswith("\n"):
        sys.stdout.write("\n")
    if outcome.result is not None:
        stdout().print(neutralize_text(_format_result(outcome.result)))
    for part in outcome.content:
        stderr().print(f"{part.type}, {part.mime_type}, {len(part.data):,} characters: --json prints it", style="dim")
    print_ending(outcome)
    return outcome


def _format_result(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value, indent=2, ensure_ascii=False)
