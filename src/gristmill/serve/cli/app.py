"""The command line. Each verb has a file of its own, which is imported only when the verb is used, so that each start is fast."""

import logging
import sys
from typing import Annotated

import typer

from gristmill import __version__
from gristmill.errors import Error
from gristmill.serve import foreign_loggers as foreign
from gristmill.serve.cli.terminal.safe_output import print_error
from gristmill.serve.cli.verb_group import EPILOG, VerbGroup
from gristmill.serve.problem_codes import find_exit_code

app = typer.Typer(
    name="gristmill",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=VerbGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Let a model search your MCP tools and call them from Python code that runs in a sandbox.",
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"gristmill {__version__}")
        raise typer.Exit


@app.callback()
def silence_foreign_loggers(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Silences the loggers of foreign libraries before any verb runs, so that they do not write to our standard error."""
    for name in foreign.LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def main() -> None:
    """Runs the command line. Prints an error of ours as one line with an exit code, never as a traceback."""
    try:
        app()
    except Error as error:
        print_error(error.message)
        sys.exit(find_exit_code(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader closed the pipe: any further message would fail as well
        sys.exit(141)
    except OSError as error:
        print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(1)
