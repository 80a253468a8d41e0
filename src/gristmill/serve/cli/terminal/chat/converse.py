"""A conversation with a person at a terminal, and a single question from a pipe or a command line."""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

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
        person = _Person(talk, TurnScreen(stdout()))
        person.run_turn(run)
        answer = person.screen.answer
        return 130 if answer is None else EXIT_CODES[answer.status]
    kept = AnswerKeeper()
    run(kept.show)
    if kept.answer is None:
        return 130
    _print_answer(kept.answer, as_json=as_json)
    return EXIT_CODES[kept.answer.status]


def converse(talk: ChatTalk, history: Path, *, as_json: bool) -> None:
    """Reads messages and commands until the person leaves; an error of ours ends its turn and not the conversation."""
    person = _Person(talk, AnswerKeeper() if as_json else TurnScreen(stdout()), as_json=as_json)
    commands = ChatCommands(talk, stdout(), person)
    save = set_up_terminal(history, lambda line, word: complete_command(line, word, commands.names, tuple(MODES)))
    stderr().print("type a message, or /help; Ctrl-C stops an answer, Ctrl-D leaves", style="dim")
    try:
        for text in read_typed_messages():
            try:
                if not text.startswith("/"):
                    person.run_turn(partial(talk.send, text))
                elif not commands.run(text):
                    return
            except Error as error:
                person.screen.interrupt()
                print_error(error.message)
            except KeyboardInterrupt:
                stderr().print("stopped", style="yellow")
    finally:
        save()


class _Person:
    """Who sits at the terminal: sees turns, and is asked about calls that wait."""

    def __init__(self, talk: ChatTalk, screen: AnswerKeeper, *, as_json: bool = False) -> None:
        self._talk, self.screen, self._as_json = talk, screen, as_json

    def run_turn(self, run: Run) -> None:
        """Runs a turn; asks as often as it needs an approval."""
        self.screen.answer = None
        is_whole = run(self.screen.show)
        answer = self.screen.answer
        if answer is None:
            self.screen.interrupt()
            stderr().print("stopped", style="yellow")
        elif is_whole and answer.approval is not None:
            self.answer_question(answer.approval)
        elif self._as_json:
            _print_answer(answer, as_json=True)

    def answer_question(self, question: Mapping[str, Any]) -> None:
        """Asks about calls that wait, and runs the turn on."""
        stderr().print("these calls need your approval:", style="yellow")
        approved = ask_at_terminal(stderr(), read_question(question))
        self.run_turn(partial(self._talk.decide, approved if isinstance(approved, str) else list(approved)))


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
