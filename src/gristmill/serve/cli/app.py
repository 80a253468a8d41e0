"""The command line: one file per verb, put together here. Heavy imports wait until a verb is chosen; the others stay on disk."""

import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gristmill import __version__
from gristmill.serve import foreign_loggers as foreign
from gristmill.serve.cli.verb_group import EPILOG, GroupedHelp
from gristmill.serve.cli.verb_table import VERBS, Verb

if TYPE_CHECKING:
    app: typer.Typer
    """All verbs; made when it is first asked for."""


def app_of(verbs: Iterable[Verb]) -> typer.Typer:
    """The command line with these verbs."""
    made = typer.Typer(
        name="gristmill",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        cls=GroupedHelp,
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Run model-written Python behind a kernel wall. All is grist to the mill; the model gets the flour.",
    )
    made.callback()(root)
    for verb in verbs:
        module: Any = import_module(f"gristmill.serve.cli.{verb.module}")
        if verb.function is None:
            made.add_typer(module.app, name=verb.name, rich_help_panel=verb.heading)
        else:
            made.command(verb.name, rich_help_panel=verb.heading)(getattr(module, verb.function))
    return made


@cache
def _whole() -> typer.Typer:
    return app_of(VERBS)


def __getattr__(name: str) -> typer.Typer:
    if name == "app":
        return _whole()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gristmill {__version__}")
        raise typer.Exit


def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,  # noqa: ARG001
) -> None:
    """Before any verb: libraries of others write nothing to our standard error."""
    import logging

    for name in foreign.LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def chosen(arguments: list[str]) -> typer.Typer:
    """The command line with the verb that comes first, if one does; with all of them for everything else."""
    named = [verb for verb in VERBS if verb.name in arguments[:1]]
    return app_of(named) if named and "_GRISTMILL_COMPLETE" not in os.environ else _whole()


def main() -> None:
    """Run the command line; an error of ours is one line and an exit code, never a traceback."""
    from gristmill.errors import Error

    try:
        chosen(sys.argv[1:])()
    except Error as error:
        from gristmill.serve.cli.terminal.safe_output import harmless, stderr
        from gristmill.serve.problem_codes import exit_code

        stderr().print(f"[red]error[/] {harmless(error.message)}", markup=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        sys.exit(141)
