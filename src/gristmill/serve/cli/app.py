"""The command line: one file per verb, put together here. Heavy imports wait until a verb is chosen."""

import sys
from typing import Annotated

import typer

from gristmill import __version__
from gristmill.serve.cli import (
    approvals,
    audit,
    demo,
    describe,
    doctor,
    import_,
    login,
    packages,
    run,
    search,
    serve,
    sessions,
    skills,
    stats,
    tools,
)  # fmt: skip

FOREIGN_LOGGERS = ("mcp", "client", "httpx2", "httpcore2", "uvicorn", "asyncio")
"""What they have to say about servers is told by `gristmill tools`, in one line and without secrets."""

app = typer.Typer(
    name="gristmill",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Run model-written Python behind a kernel wall. All is grist to the mill; the model gets the flour.",
)
app.command("serve")(serve.serve)
app.command("run")(run.run)
app.command("search")(search.search)
app.add_typer(tools.app, name="tools")
app.command("describe")(describe.describe)
app.command("stats")(stats.stats)
app.command("login")(login.login)
app.command("logout")(login.logout)
app.command("import")(import_.import_servers)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.add_typer(packages.app, name="packages")
app.add_typer(audit.app, name="audit")
app.add_typer(sessions.app, name="sessions")
app.add_typer(skills.app, name="skills")
app.add_typer(approvals.app, name="approvals")


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

    for name in FOREIGN_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def main() -> None:
    """Run the command line; an error of ours is one line and an exit code, never a traceback."""
    from gristmill.errors import Error
    from gristmill.serve.cli.terminal import harmless, stderr
    from gristmill.serve.problems import exit_code

    try:
        app()
    except Error as error:
        stderr().print(f"[red]error[/] {harmless(error.message)}", markup=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        sys.exit(141)
