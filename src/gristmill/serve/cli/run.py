"""``gristmill run``: one program in the sandbox."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file; default ./gristmill.toml if there is one.")
]


def run(
    file: Annotated[str, typer.Argument(help="The program, or - for standard input.", metavar="FILE|-")],
    session: Annotated[str | None, typer.Option(help="Run in this session: its files are kept between runs.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds it may take.", min=0.01)] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Megabytes of memory it may use.", min=16)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Run a Python program in the sandbox and print its outcome.

    The value of the last expression is the result. Exit code 0 means success; 1 the program failed, 2 it was refused,
    3 it met a limit, 4 it crashed, 6 there is no sandbox here.

    Example: `echo 'print(6 * 7)' | gristmill run -`
    """
    import asyncio

    from gristmill.config import load_config
    from gristmill.serve.problems import STATUS_EXIT_CODES

    code = read_code(file)
    asked = {"seconds": timeout, "memory_mb": memory_mb}
    limits = {name: value for name, value in asked.items() if value is not None}
    sandbox: dict[str, Any] = {"warm": 0, **({"limits": limits} if limits else {})}
    outcome = asyncio.run(_execute(load_config(config, sandbox=sandbox), code, session, json=json))
    raise typer.Exit(STATUS_EXIT_CODES[outcome.status])


def read_code(file: str) -> str:
    """The program's text.

    Raises:
        CodeRefused: it cannot be read or is not text.
    """
    from gristmill.errors import CodeRefused
    from gristmill.guard.validate import CODE_BYTES

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


async def _execute(config: Any, code: str, session: str | None, *, json: bool) -> Any:
    from gristmill.events import Event, OutputWritten
    from gristmill.runtime.runtime import Runtime
    from gristmill.serve.cli.terminal import harmless, outcome_fields, print_json, stderr, stdout, summary

    def show(event: Event) -> None:
        if isinstance(event, OutputWritten) and not json:
            sys.stdout.write(harmless(event.text))
            sys.stdout.flush()

    async with Runtime.open(config) as runtime:
        outcome = await runtime.execute(code, session=session, emit=show)
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
    return outcome


def _pretty(value: Any) -> str:
    from json import dumps

    return value if isinstance(value, str) else dumps(value, indent=2, ensure_ascii=False)
