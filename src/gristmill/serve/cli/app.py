"""The command line: one file per verb, put together here. Heavy imports wait until a verb is chosen."""

import sys
from typing import Annotated

import typer

from gristmill import __version__
from gristmill.serve import foreign
from gristmill.serve.cli import (
    approvals,
    audit,
    bench,
    demo,
    describe,
    doctor,
    export,
    import_,
    init,
    install,
    login,
    packages,
    run,
    search,
    serve,
    sessions,
    shell,
    skills,
    stats,
    tokens,
    tools,
)  # fmt: skip
from gristmill.serve.cli.help import EPILOG, GroupedHelp

BEGIN, TOOLS, CODE, LOOK = "Begin", "Tools", "Code", "Look after it"

app = typer.Typer(
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
app.command("init", rich_help_panel=BEGIN)(init.init)
app.command("import", rich_help_panel=BEGIN)(import_.import_servers)
app.command("install", rich_help_panel=BEGIN)(install.install)
app.command("uninstall", rich_help_panel=BEGIN)(install.uninstall)
app.command("serve", rich_help_panel=BEGIN)(serve.serve)
app.command("doctor", rich_help_panel=BEGIN)(doctor.doctor)
app.command("demo", rich_help_panel=BEGIN)(demo.demo)
app.command("search", rich_help_panel=TOOLS)(search.search)
app.add_typer(tools.app, name="tools", rich_help_panel=TOOLS)
app.command("describe", rich_help_panel=TOOLS)(describe.describe)
app.command("login", rich_help_panel=TOOLS)(login.login)
app.command("logout", rich_help_panel=TOOLS)(login.logout)
app.command("export", rich_help_panel=TOOLS)(export.export)
app.command("run", rich_help_panel=CODE)(run.run)
app.command("shell", rich_help_panel=CODE)(shell.shell)
app.add_typer(packages.app, name="packages", rich_help_panel=CODE)
app.add_typer(sessions.app, name="sessions", rich_help_panel=CODE)
app.add_typer(skills.app, name="skills", rich_help_panel=CODE)
app.command("stats", rich_help_panel=LOOK)(stats.stats)
app.add_typer(approvals.app, name="approvals", rich_help_panel=LOOK)
app.add_typer(audit.app, name="audit", rich_help_panel=LOOK)
app.add_typer(tokens.app, name="tokens", rich_help_panel=LOOK)
app.command("bench", rich_help_panel=LOOK)(bench.bench)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gristmill {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,  # noqa: ARG001
) -> None:
    """Before any verb: libraries of others write nothing to our standard error."""
    import logging

    for name in foreign.LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def main() -> None:
    """Run the command line; an error of ours is one line and an exit code, never a traceback."""
    from gristmill.errors import Error

    try:
        app()
    except Error as error:
        from gristmill.serve.cli.terminal import harmless, stderr
        from gristmill.serve.problems import exit_code

        stderr().print(f"[red]error[/] {harmless(error.message)}", markup=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        sys.exit(141)
