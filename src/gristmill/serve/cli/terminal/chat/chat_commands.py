"""The commands of a conversation at a terminal: each begins with a slash, and none of them reaches the model."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, get_args

from rich.console import Console

from gristmill.chat.chat_events import ChatMode
from gristmill.errors import Refused
from gristmill.runtime.open.mask_offline import mask_session_file
from gristmill.runtime.open.session_stores import read_whole_file
from gristmill.serve.cli.terminal.chat.chat_talk import ChatTalk, Show
from gristmill.serve.cli.terminal.chat.transcript import write_transcript
from gristmill.serve.cli.terminal.chat.turn_screen import describe_cost
from gristmill.serve.cli.terminal.print_tables import format_time, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text

MODES: Mapping[str, ChatMode] = {mode: mode for mode in get_args(ChatMode)}
MOST_FILES = 200
SHOWN_BYTES = 8_000
"""How much of a file is shown."""
NOTHING_YET = "there is no conversation yet: type a message first"
HELP = """\
Type a message; a backslash at the end of a line continues it. Ctrl-C stops the answer, Ctrl-D leaves.
  /mode [MODE]          show or choose the mode: code, hybrid, direct, auto, blocks
  /tools [WORDS]        list the servers, list the tools of one, or find tools
  /files [NAME]         list the files of this conversation, or show one
  /save [FILE]          write this conversation to a Markdown file
  /resume               go on with a turn that was stopped or failed
  /undo                 forget the last turn; what its programs did stays done
  /cost                 show what this conversation has cost
  /new                  begin a new conversation
  /list                 list your conversations
  /open ID              go on with another conversation
  /delete ID            delete a conversation with its files
  /help, /quit"""


class TurnRunner(Protocol):
    """Runs turns for a person: shows them, and asks about calls that wait."""

    def run_turn(self, run: Callable[[Show], bool]) -> None:
        """Runs a turn."""
        ...

    def answer_question(self, question: Mapping[str, Any]) -> None:
        """Asks about calls that wait, and runs the turn on."""
        ...


class ChatCommands:
    """Runs the commands of one conversation, and prints what they answer."""

    def __init__(self, talk: ChatTalk, console: Console, runner: TurnRunner) -> None:
        self._talk, self._console, self._runner = talk, console, runner
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/help": self._help, "/mode": self._choose_mode, "/tools": self._list_tools, "/files": self._list_files,
            "/save": self._save, "/resume": self._resume, "/undo": self._undo, "/cost": self._show_cost, "/new": self._begin_anew,
            "/list": self._list_conversations, "/open": self._open_conversation, "/delete": self._delete_conversation,
        }  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of all commands."""
        return (*self._commands, "/quit")

    def run(self, text: str) -> bool:
        """Runs one command; returns False for ``/quit``."""
        name, _, rest = text.partition(" ")
        if name in ("/quit", "/exit", "/q"):
            return False
        if (command := self._commands.get(name)) is None:
            self._say(f"there is no command {name[:40]}: type /help for a list", style="yellow")
        else:
            command(rest.strip())
        return True

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(neutralize_text(text), style=style)

    def _help(self, _rest: str) -> None:
        self._say(HELP)

    def _choose_mode(self, rest: str) -> None:
        if rest in MODES:
            self._talk.mode = MODES[rest]
        elif rest:
            self._say(f"there is no mode {rest[:40]}: use {', '.join(MODES)}", style="yellow")
            return
        self._say(f"mode: {self._talk.mode or 'as the configuration says'}")

    def _list_tools(self, rest: str) -> None:
        modules = self._talk.ask_runtime(lambda runtime: runtime.modules())
        if rest in modules or not rest:
            names = modules.get(rest) or tuple(f"{name} ({len(tools)} tools)" for name, tools in modules.items())
            self._say("\n".join(names) or "no tools are known yet")
            return
        found = self._talk.ask_runtime(lambda runtime: runtime.search(rest, limit=5, for_person=True))
        self._say(found.text or "no tool fits")

    def _list_files(self, rest: str) -> None:
        session = self._talk.find_session()
        if session is None:
            self._say("no program of this conversation has run yet, so there are no files")
            return
        files = self._talk.runtime.session_stores.files(session)
        if rest:
            body = mask_session_file(self._talk.runtime.config, session, rest, read_whole_file(files, rest))
            self._say(body[:SHOWN_BYTES].decode(errors="replace"))
            if len(body) > SHOWN_BYTES:
                self._say(f"… whole: gristmill sessions get {session.name} {rest}", style="dim")
            return
        rows = [(each.path, f"{each.size:,}", format_time(each.changed)) for each in files.list(limit=MOST_FILES).entries]
        print_table(("file", "bytes", "changed"), rows)
        if not rows:
            self._say("no program of this conversation has written a file")

    def _save(self, rest: str) -> None:
        conversation = self._talk.conversation
        if conversation is None:
            self._say(NOTHING_YET)
            return
        path = Path(rest or f"{conversation}.md").expanduser()
        messages = self._talk.ask(lambda chat: chat.messages(conversation, user=self._talk.user))
        try:
            path.write_text(write_transcript(messages), encoding="utf-8")
        except OSError as error:
            raise Refused(f"{path} cannot be written: {error.strerror}", rule="file.system") from None
        self._say(f"saved as {path}")

    def _resume(self, _rest: str) -> None:
        if self._talk.conversation is None:
            self._say(NOTHING_YET)
        elif not self._ask_what_waits():
            self._runner.run_turn(self._talk.resume)

    def _ask_what_waits(self) -> bool:
        conversation = str(self._talk.conversation)
        question = self._talk.ask(lambda chat: chat.question(conversation, user=self._talk.user))
        if question is not None:
            self._runner.answer_question(question)
        return question is not None

    def _undo(self, _rest: str) -> None:
        conversation = self._talk.conversation
        if conversation is None:
            self._say(NOTHING_YET)
            return
        is_done = self._talk.ask(lambda chat: chat.undo(conversation, user=self._talk.user))
        self._say("the last turn is forgotten; what its programs did stays done" if is_done else "there is no turn to forget")

    def _show_cost(self, _rest: str) -> None:
        conversation = self._talk.conversation
        if conversation is None:
            self._say(NOTHING_YET)
            return
        found = self._talk.ask(lambda chat: chat.conversation_of(conversation, user=self._talk.user))
        self._say(f"{found.turns} turns: {describe_cost(found.usage)}")

    def _begin_anew(self, _rest: str) -> None:
        self._talk.conversation = None
        self._say("a new conversation begins with your next message")

    def _list_conversations(self, _rest: str) -> None:
        found = self._talk.ask(lambda chat: chat.conversations(user=self._talk.user, limit=20))
        rows = [(each.id, format_time(each.used), str(each.turns), each.standing, each.title[:60]) for each in found]
        print_table(("conversation", "last used", "turns", "state", "begins"), rows)
        if not rows:
            self._say("you have no conversations yet")

    def _open_conversation(self, rest: str) -> None:
        found = self._talk.ask(lambda chat: chat.conversation_of(rest, user=self._talk.user))
        self._talk.conversation = found.id
        self._say(f"{found.title} ({found.turns} turns)")
        self._ask_what_waits()

    def _delete_conversation(self, rest: str) -> None:
        is_gone = self._talk.ask(lambda chat: chat.delete(rest, user=self._talk.user))
        if rest == self._talk.conversation:
            self._talk.conversation = None
        self._say("deleted" if is_gone else "it is being deleted by the process that works on it")
