"""``gristmill shell``: a Python shell in the sandbox that can import the tools."""

import sys
from json import dumps
from pprint import pformat
from typing import Annotated, Any

import typer

from gristmill.config.tree import load_config
from gristmill.errors import Error
from gristmill.events import Event, OutputWritten
from gristmill.model import Language, Outcome, Plan
from gristmill.serve.cli.terminal.safe_output import neutralize_text, outcome_to_json, print_error, print_hints, stderr, stdout
from gristmill.serve.cli.terminal.shell_completion import CompletionNames, complete_word
from gristmill.serve.cli.terminal.shell_input import (
    is_complete_statement,
    is_complete_typescript,
    read_typed_lines,
    set_up_terminal,
    split_piped_text,
)
from gristmill.serve.cli.terminal.shell_session import PlanVerdict, ShellInterrupted, ShellSession, open_shell_session
from gristmill.serve.cli.terminal.show_plan import ask_at_terminal
from gristmill.serve.cli.verb_options import ConfigFile
from gristmill.serve.cli.verbs.use.tools import print_servers
from gristmill.serve.problem_codes import STATUS_EXIT_CODES, find_exit_code

HELP = """\
Python runs in the sandbox and keeps its variables; `await` works at the top level. `from servers import NAME` imports a server.
  :servers       list the servers and their state
  :tools SERVER  list what you can import from a server
  :search WORDS  find tools, with their signatures
  :quit          leave (or Ctrl-D); Ctrl-C stops the running code, not the shell"""


def shell(
    session: Annotated[str, typer.Option(help="The session to use; its files are kept.")] = "shell",
    ts: Annotated[bool, typer.Option("--ts", help="Type TypeScript instead of Python.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print each outcome as one line of JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Open a Python shell in the sandbox: variables are kept between lines, tools can be imported, Tab completes.

    Also reads programs and commands from a pipe, and stops at the first that fails. Example: `echo '6 * 7' | gristmill shell`
    """
    settings = load_config(config, sandbox={"warm": 0})
    with open_shell_session(settings, session) as opened:
        names = CompletionNames()
        commands = _ShellCommands(opened, names, "typescript" if ts else "python", json=json)
        if not sys.stdin.isatty():
            raise typer.Exit(_run_piped(commands, split_piped_text(sys.stdin.read())))
        opened.start_listing()

        def complete(line: str, word: str) -> list[str]:
            names.modules = opened.ask(lambda runtime: runtime.modules())
            return complete_word(line, word, names)

        save = set_up_terminal(settings.state_dir / "shell_history", complete)
        typer.echo(
            f"{'TypeScript' if ts else 'Python'} in the sandbox ({opened.runtime.isolation}); type :help for help", err=True
        )
        try:
            for text in read_typed_lines(is_complete_typescript if ts else is_complete_statement):
                if commands.run_text(text) is None:
                    break
        finally:
            save()


def _run_piped(commands: "_ShellCommands", texts: Any) -> int:
    """Runs everything from a pipe until something fails or `:quit`; returns the exit code."""
    for text in texts:
        code = commands.run_text(text)
        if code is None:
            return 0
        if code:
            return code
    return 0


class _ShellCommands:
    """Runs commands and code of the shell, and prints their results."""

    def __init__(self, opened: ShellSession, names: CompletionNames, language: Language, *, json: bool) -> None:
        self._session, self._names, self._json = opened, names, json
        self._language: Language = language
        self._is_used = False

    def run_text(self, text: str) -> int | None:
        """Runs one command or statement; returns its exit code, or None for `:quit`."""
        try:
            return self._run_command(text) if text.startswith(":") else self._run_code(text)
        except Error as error:
            print_error(error.message)
            return find_exit_code(error)

    def _run_command(self, text: str) -> int | None:
        verb, _, rest = text.partition(" ")
        if verb in (":quit", ":q", ":exit"):
            return None
        if verb == ":help":
            stdout().print(HELP)
        elif verb == ":servers":
            self._print_servers()
        elif verb == ":search" and rest.strip():
            found = self._session.ask(lambda runtime: runtime.search(rest.strip(), limit=5, for_person=True))
            stdout().print(neutralize_text(found.text) or "no tool fits")
        elif verb == ":tools":
            modules = self._session.ask(lambda runtime: runtime.modules())
            names = modules.get(rest.strip(), tuple(f"servers.{name}" for name in modules))
            stdout().print(neutralize_text("\n".join(names)) or "no tools are known")
        else:
            stderr().print(f"unknown command {neutralize_text(text[:60])!r}; type :help for a list")
            return 2
        return 0

    def _print_servers(self) -> None:
        async def list_servers(runtime: Any) -> Any:
            await runtime.settled(10)
            return await runtime.servers()

        rows = self._session.ask(list_servers)
        print_servers(rows)
        if not rows:
            stdout().print("no servers are configured")

    def _run_code(self, code: str) -> int:
        def show(event: Event) -> None:
            if isinstance(event, OutputWritten) and not self._json:
                sys.stdout.write(neutralize_text(event.text))
                sys.stdout.flush()

        try:
            decide = _ask_approval if sys.stdin.isatty() and not self._json else None
            outcome = self._session.run(code, show, decide, self._language)
        except ShellInterrupted:
            stderr().print("interrupted", style="yellow")
            return 130
        if outcome.success and self._language == "python":
            self._names.learn(code)
        self._print_outcome(outcome)
        return STATUS_EXIT_CODES.get(outcome.status, 1)

    def _print_outcome(self, outcome: Outcome) -> None:
        if self._json:
            sys.stdout.write(dumps(outcome_to_json(outcome), default=str) + "\n")
            return
        if outcome.output and not outcome.output.endswith("\n"):
            sys.stdout.write("\n")
        if outcome.result is not None:
            stdout().print(neutralize_text(pformat(outcome.result, width=100, sort_dicts=False)))
        if outcome.error:
            stderr().print(neutralize_text(outcome.error), style="red")
        print_hints(stderr(), outcome)
        if outcome.status == "awaiting_approval":
            stderr().print("stopped: some calls need approval", style="yellow")
        if outcome.state == "fresh" and self._is_used:
            stderr().print("the interpreter was restarted: variables are gone, files are still there", style="yellow")
            self._names.bound.clear()
        self._is_used = outcome.status != "refused" or self._is_used


def _ask_approval(plan: Plan) -> PlanVerdict:
    stderr().print("these calls need your approval:", style="yellow")
    return ask_at_terminal(stderr(), plan)
