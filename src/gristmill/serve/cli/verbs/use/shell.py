"""``gristmill shell``: Python in the sandbox, line by line, with the tools importable."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.model import Outcome, Plan
    from gristmill.serve.cli.terminal.shell_completion import Names
    from gristmill.serve.cli.terminal.shell_session import Conversation, Verdict

HELP = """\
Python runs in the sandbox and keeps its names; `await` works at the top. `from servers import NAME` imports a server.
  :servers       the servers and how they are
  :tools SERVER  what to import from a server
  :search WORDS  tools that fit, with their signatures
  :quit          leave (so does Ctrl-D); Ctrl-C stops what runs, not the shell"""


def shell(
    session: Annotated[str, typer.Option(help="The session whose files are used and kept.")] = "shell",
    json: Annotated[bool, typer.Option("--json", help="Print every outcome as a line of JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Open a Python shell in the sandbox: names live on from line to line, tools can be imported, Tab completes.

    Reads programs and commands from a pipe as well, up to the first that fails. Example: `echo '6 * 7' | gristmill shell`
    """
    from gristmill.config.tree import load_config
    from gristmill.serve.cli.terminal.shell_completion import Names, completions
    from gristmill.serve.cli.terminal.shell_input import piped, typed, use_terminal
    from gristmill.serve.cli.terminal.shell_session import conversation

    settings = load_config(config, sandbox={"warm": 0})
    with conversation(settings, session) as open_:
        names = Names()
        room = _Room(open_, names, json=json)
        if not sys.stdin.isatty():
            raise typer.Exit(_through(room, piped(sys.stdin.read())))
        open_.list_meanwhile()

        def complete(line: str, word: str) -> list[str]:
            names.modules = open_.ask(lambda runtime: runtime.modules())
            return completions(line, word, names)

        save = use_terminal(settings.state_dir / "shell_history", complete)
        typer.echo(f"Python in the sandbox ({open_.runtime.isolation}); :help tells more", err=True)
        try:
            for text in typed():
                if room.take(text) is None:
                    break
        finally:
            save()


def _through(room: "_Room", texts: Any) -> int:
    """Everything from a pipe, until something fails or says goodbye; the exit code."""
    for text in texts:
        code = room.take(text)
        if code is None:
            return 0
        if code:
            return code
    return 0


class _Room:
    """What one line of input does."""

    def __init__(self, open_: "Conversation", names: "Names", *, json: bool) -> None:
        self._open, self._names, self._json = open_, names, json
        self._is_used = False

    def take(self, text: str) -> int | None:
        """Do it; the exit code of its outcome, or nothing when it was a goodbye."""
        from gristmill.errors import Error
        from gristmill.serve.cli.terminal.safe_output import harmless, stderr
        from gristmill.serve.problem_codes import exit_code

        try:
            return self._command(text) if text.startswith(":") else self._run(text)
        except Error as error:
            stderr().print(f"[red]error[/] {harmless(error.message)}")
            return exit_code(error)

    def _command(self, text: str) -> int | None:
        from gristmill.serve.cli.terminal.safe_output import harmless, stderr, stdout

        verb, _, rest = text.partition(" ")
        if verb in (":quit", ":q", ":exit"):
            return None
        if verb == ":help":
            stdout().print(HELP, markup=False)
        elif verb == ":servers":
            self._servers()
        elif verb == ":search" and rest.strip():
            found = self._open.ask(lambda runtime: runtime.search(rest.strip(), limit=5))
            stdout().print(harmless(found.text) or "nothing fits", markup=False)
        elif verb == ":tools":
            modules = self._open.ask(lambda runtime: runtime.modules())
            names = modules.get(rest.strip(), tuple(f"servers.{name}" for name in modules))
            stdout().print(harmless("\n".join(names)) or "no tools are known", markup=False)
        else:
            stderr().print(f"there is no {harmless(text[:60])!r}; :help tells what there is", markup=False)
            return 2
        return 0

    def _servers(self) -> None:
        from gristmill.serve.cli.terminal.safe_output import stdout
        from gristmill.serve.cli.verbs.use.tools import table_of_servers

        async def look(runtime: Any) -> Any:
            await runtime.settled(10)
            return await runtime.servers()

        rows = self._open.ask(look)
        stdout().print(table_of_servers(rows) if rows else "no servers are configured")

    def _run(self, code: str) -> int:
        from gristmill.events import Event, OutputWritten
        from gristmill.serve.cli.terminal.safe_output import harmless, stderr
        from gristmill.serve.cli.terminal.shell_session import Interrupted
        from gristmill.serve.problem_codes import STATUS_EXIT_CODES

        def show(event: Event) -> None:
            if isinstance(event, OutputWritten) and not self._json:
                sys.stdout.write(harmless(event.text))
                sys.stdout.flush()

        try:
            outcome = self._open.run(code, show, _decide if sys.stdin.isatty() and not self._json else None)
        except Interrupted:
            stderr().print("interrupted", style="yellow")
            return 130
        if outcome.success:
            self._names.learn(code)
        self._tell(outcome)
        return STATUS_EXIT_CODES.get(outcome.status, 1)

    def _tell(self, outcome: "Outcome") -> None:
        from json import dumps
        from pprint import pformat

        from gristmill.serve.cli.terminal.safe_output import harmless, outcome_fields, stderr, stdout

        if self._json:
            sys.stdout.write(dumps(outcome_fields(outcome), default=str) + "\n")
            return
        if outcome.output and not outcome.output.endswith("\n"):
            sys.stdout.write("\n")
        if outcome.result is not None:
            stdout().print(harmless(pformat(outcome.result, width=100, sort_dicts=False)), markup=False)
        if outcome.error:
            stderr().print(harmless(outcome.error), markup=False, style="red")
        if outcome.status == "awaiting_approval":
            stderr().print("not run to its end: calls in it need approval", style="yellow")
        if outcome.state == "fresh" and self._is_used:
            stderr().print("the interpreter has ended: names from before are gone, files are still there", style="yellow")
            self._names.bound.clear()
        self._is_used = outcome.status != "refused" or self._is_used


def _decide(plan: "Plan") -> "Verdict":
    from gristmill.serve.cli.terminal.safe_output import harmless, stderr
    from gristmill.serve.cli.terminal.shell_session import plan_lines

    stderr().print("this needs your approval:", style="yellow")
    for line in plan_lines(plan):
        stderr().print(f"  {harmless(line)}", markup=False)
    try:
        return "all" if typer.confirm("Do it?", default=False, err=True) else "none"
    except typer.Abort:
        raise KeyboardInterrupt from None
