"""A conversation at a terminal: turns, questions and Ctrl-C, over a chat that says what a test wants."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, cast

import pytest
from anyio.from_thread import start_blocking_portal

from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ApprovalNeeded, ChatAnswer, ChatEvent, ChatProblem, TextDelta, TurnAnswered, TurnBegan
from gristmill.errors import NotFound
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.chat.chat_talk import ChatTalk
from gristmill.serve.cli.terminal.chat.converse import answer_once, converse
from gristmill.serve.cli.terminal.chat.turn_screen import AnswerKeeper

BEGUN = TurnBegan(conversation="c1", turn=1, model="m", mode="code")
CALL = {
    "number": 1, "tool": "shop.buy", "arguments": {"item": "tea"}, "rule": "shop.*", "needs_approval": True, "was_lost": False,
    "diff": None, "hash": "h",
}  # fmt: skip
QUESTION = {"approval": "p", "execution": "e", "hash": "h", "expires": 9e9, "calls": [CALL], "stopped": None}


def say(status: str = "answered", text: str = "done", **fields: Any) -> ChatAnswer:
    return ChatAnswer(conversation="c1", turn=1, status=cast("Any", status), text=text, mode="code", **fields)


class ScriptedChat:
    """Stands for a chat: each turn gives the next events; one that ends without an answer goes on until it is stopped."""

    def __init__(self, *turns: list[ChatEvent]) -> None:
        self.turns, self.said = list(turns), list[Any]()
        self.stopped = asyncio.Event()
        self.was_cancelled = False

    async def send(self, message: str, **options: Any) -> AsyncGenerator[ChatEvent]:
        self.said.append((message, options["conversation"], options["mode"]))
        return self._play()

    async def decide(self, conversation: str, approve: Any, **_: Any) -> AsyncGenerator[ChatEvent]:
        self.said.append((conversation, approve))
        return self._play()

    async def stop(self, conversation: str, **_: Any) -> bool:
        self.said.append(("stop", conversation))
        self.stopped.set()
        return True

    async def conversation_of(self, conversation: str, **_: Any) -> Any:
        raise NotFound(f"there is no conversation {conversation}")

    async def _play(self) -> AsyncGenerator[ChatEvent]:
        events = self.turns.pop(0)
        try:
            for event in events:
                yield event
            if not isinstance(events[-1], TurnAnswered):
                await self.stopped.wait()
                yield TurnAnswered(answer=say("stopped", "half"))
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


@pytest.fixture
def talk(request: pytest.FixtureRequest) -> Generator[tuple[ChatTalk, ScriptedChat]]:
    with start_blocking_portal() as portal:
        chat = portal.call(lambda: ScriptedChat(*request.param))
        yield ChatTalk(portal, cast("Runtime", None), cast("Chat", chat), user=None, context={}), chat


def with_turns(*turns: list[ChatEvent]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("talk", [turns], indirect=True)


def type_lines(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    left = iter(lines)

    def read(_prompt: str = "") -> str:
        for line in left:
            return line
        raise EOFError

    monkeypatch.setattr("builtins.input", read)


ANSWERED: list[ChatEvent] = [BEGUN, TextDelta(text="done"), TurnAnswered(answer=say())]
WAITS: list[ChatEvent] = [
    BEGUN,
    ApprovalNeeded(program=1, question=QUESTION),
    TurnAnswered(answer=say("awaiting_approval", "", approval=QUESTION)),
]


@with_turns(ANSWERED, ANSWERED)
def test_messages_go_on_with_the_conversation_that_the_first_one_began(
    talk: tuple[ChatTalk, ScriptedChat], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    opened, chat = talk
    type_lines(monkeypatch, "hello \\", "world", "/mode blocks", "again", "/mode magic", "/nonsense", "/open x", "/quit", "never")
    converse(opened, tmp_path / "history", as_json=False)
    seen = capsys.readouterr()
    assert chat.said == [("hello \nworld", None, None), ("again", "c1", "blocks")]
    assert seen.out.count("done\n") == 2
    for words in ("mode: blocks", "there is no mode magic", "there is no command /nonsense"):
        assert words in seen.out
    assert "there is no conversation x" in seen.err


@with_turns(WAITS, ANSWERED)
def test_calls_that_wait_are_one_question(
    talk: tuple[ChatTalk, ScriptedChat], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    opened, chat = talk
    type_lines(monkeypatch, "buy tea", "a")
    converse(opened, tmp_path / "history", as_json=False)
    seen = capsys.readouterr()
    assert chat.said == [("buy tea", None, None), ("c1", "all")]
    assert "shop.buy" in seen.err
    assert "done\n" in seen.out


@with_turns(WAITS)
def test_a_pipe_is_told_how_to_answer_a_question(talk: tuple[ChatTalk, ScriptedChat], capsys: pytest.CaptureFixture[str]) -> None:
    opened, _ = talk
    assert answer_once(opened, lambda show: opened.send("buy tea", show), as_json=False) == 7
    assert "gristmill chat --conversation c1 --approve all" in capsys.readouterr().err


@with_turns([BEGUN, TurnAnswered(answer=say("failed", "", problem=ChatProblem(code="x", message="no \x1b key")))], ANSWERED)
def test_a_pipe_gets_the_answer_alone(talk: tuple[ChatTalk, ScriptedChat], capsys: pytest.CaptureFixture[str]) -> None:
    opened, _ = talk
    assert answer_once(opened, lambda show: opened.send("a", show), as_json=False) == 1
    assert capsys.readouterr() == ("", "error no \\x1b key\n")
    assert answer_once(opened, lambda show: opened.send("b", show), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "done"


@with_turns([BEGUN, TextDelta(text="half")])
def test_ctrl_c_stops_the_turn_and_the_answer_says_so(talk: tuple[ChatTalk, ScriptedChat]) -> None:
    opened, chat = talk
    kept = AnswerKeeper()

    def show(event: ChatEvent) -> None:
        kept.show(event)
        if isinstance(event, TextDelta):
            raise KeyboardInterrupt

    assert opened.send("long", show) is False
    assert chat.said[-1] == ("stop", "c1")
    assert kept.answer is not None
    assert (kept.answer.status, kept.answer.text, chat.was_cancelled) == ("stopped", "half", False)


@with_turns([TextDelta(text="half")])
def test_ctrl_c_cancels_a_turn_that_has_not_begun(talk: tuple[ChatTalk, ScriptedChat]) -> None:
    opened, chat = talk

    def interrupt(_event: ChatEvent) -> None:
        raise KeyboardInterrupt

    assert opened.send("long", interrupt) is False
    assert chat.was_cancelled
    assert opened.conversation is None
