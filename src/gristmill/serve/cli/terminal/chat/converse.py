"""A conversation with a person at a terminal, and a single question from a pipe or a command line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import to_builtins

from gristmill.chat.chat_events import ChatAnswer
from gristmill.errors import Error
from gristmill.serve.cli.terminal.chat.chat_commands import MODES, ChatCommands
from gristmill.serve.cli.terminal.chat.chat_input import complete_command, read_typed_messages
from gristmill.serve.cli.terminal.chat.chat_question import read_question
from gristmill.serve.cli.terminal.chat.chat_talk import ChatTalk, Show
from gristmill.serve.cli.terminal.chat.chat_talk import open_talk as open_talk
from gristmill.serve.cli.terminal.chat.turn_screen import AnswerKeeper, TurnScreen
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_error, stderr, stdout
from gristmill.serve.cli.terminal.shell_input import set_up_terminal
from gristmill.serve.cli.terminal.show_plan import ask_at_terminal, print_plan

EXIT_CODES = {"answered": 0, "failed": 1, "awaiting_approval": 7, "stopped": 130}
Run = Callable[[Show], bool]
"""Runs a turn, and shows its events; returns False if Ctrl-C stopped it."""


def answer_once(talk: ChatTalk, run: Run, *, as_json: bool) -> int:
    """Runs one turn, and returns the exit code. At a terminal it is shown as it happens; into a pipe goes the answer alone."""
    if sys.stdout.isatty() and not as_json:
        screen = TurnScreen(stdout())
        _run_turn(talk, screen, run)
        return 130 if screen.answer is None else EXIT_CODES[screen.answer.status]
    screen = AnswerKeeper()
    run(screen.show)
    if screen.answer is None:
        return 130
    _print_answer(screen.answer, as_json=as_json)
    return EXIT_CODES[screen.answer.status]


def converse(talk: ChatTalk, history: Path, *, as_json: bool) -> None:
    """Reads messages and commands until the person leaves; an error of ours ends its turn and not the conversation."""
    screen = AnswerKeeper() if as_json else TurnScreen(stdout())
    commands = ChatCommands(talk, stdout())
    save = set_up_terminal(history, lambda line, word: complete_command(line, word, commands.names, tuple(MODES)))
    stderr().print("type a message, or /help; Ctrl-C stops an answer, Ctrl-D leaves", style="dim")
    try:
        for text in read_typed_messages():
            try:
                if text.startswith("/"):
                    if not commands.run(text):
                        return
                else:
                    _run_turn(talk, screen, lambda show, text=text: talk.send(text, show))
                    if as_json and screen.answer is not None:
                        _print_answer(screen.answer, as_json=True)
            except Error as error:
                screen.interrupt()
                print_error(error.message)
            except KeyboardInterrupt:
                stderr().print("stopped", style="yellow")
    finally:
        save()


def _run_turn(talk: ChatTalk, screen: AnswerKeeper, run: Run) -> None:
    """Runs a turn; asks the person as often as it needs an approval."""
    screen.answer = None
    is_whole = run(screen.show)
    while is_whole and screen.answer is not None and screen.answer.approval is not None:
        plan = read_question(screen.answer.approval)
        stderr().print("these calls need your approval:", style="yellow")
        approved = ask_at_terminal(stderr(), plan)
        screen.answer = None
        is_whole = talk.decide(approved if isinstance(approved, str) else list(approved), screen.show)
    if screen.answer is None:
        screen.interrupt()
        stderr().print("stopped", style="yellow")


def _print_answer(answer: ChatAnswer, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(to_builtins(answer), default=str) + "\n")
        return
    if answer.text:
        sys.stdout.write(neutralize_text(answer.text.rstrip("\n")) + "\n")
    if answer.problem is not None:
        print_error(answer.problem.message)
    if answer.approval is not None:
        stderr().print("these calls need approval:", style="yellow")
        print_plan(stderr(), read_question(answer.approval))
        stderr().print(f"answer with: gristmill chat --conversation {answer.conversation} --approve all")
