"""A turn as a person sees it: coloured lines, calls with times, costs; and nothing in it controls the terminal."""

import io

import pytest
from rich.console import Console

from gristmill.chat.chat_events import (
    ChatAnswer,
    ChatEvent,
    ChatProblem,
    CodeDelta,
    ModelDelayed,
    NestedCallFinished,
    ProgramFinished,
    ProgramPrinted,
    ProgramStarted,
    TextDelta,
    ToolsSearched,
    TurnAnswered,
    TurnBegan,
    TurnNoted,
)
from gristmill.runtime.values.kept_conversations import ChatUsage
from gristmill.serve.cli.terminal.chat.call_lines import SHOWN_CALLS, CallLines, format_milliseconds
from gristmill.serve.cli.terminal.chat.line_styles import style_answer, style_program
from gristmill.serve.cli.terminal.chat.stream_lines import LineStream
from gristmill.serve.cli.terminal.chat.turn_screen import TurnScreen, describe_cost

ANSWER = ChatAnswer(conversation="c", turn=1, status="answered", text="It is 42.", mode="code", usage=ChatUsage(requests=1))
PROGRAM = "from servers.sums import add\n\nprint(add(a=40, b=2))\n"
TURN: list[ChatEvent] = [
    TurnBegan(conversation="c", turn=1, model="m", mode="code", why="large results"),
    ToolsSearched(query="add numbers", found=("sums.add", "a", "b", "c", "d", "e")),
    CodeDelta(program=1, text=PROGRAM[:10]),
    CodeDelta(program=1, text=PROGRAM[10:]),
    ProgramStarted(program=1, code=PROGRAM),
    NestedCallFinished(program=1, call=1, tool="sums.add", ok=True, ms=12.4),
    NestedCallFinished(program=1, call=2, tool="sums.add", ok=False, ms=3400),
    ProgramPrinted(program=1, text="42\n"),
    ProgramFinished(program=1, execution="e", status="ok", text="", ms=120),
    ProgramStarted(program=2, code="", tool="sums.mean"),
    ProgramFinished(program=2, execution="e", status="failed", text="failed, id e\nValueError: no data", ms=3),
    ModelDelayed(why="rate limit", seconds=3),
    TurnNoted(text="older turns were folded"),
    TextDelta(text="It is "),
    TextDelta(text="**42**."),
    TurnAnswered(answer=ANSWER),
]
PLAIN = """\
code: large results
searched “add numbers”: sums.add, a, b, c, d and 1 more
│ from servers.sums import add

│ print(add(a=40, b=2))
  ✓ sums.add  12 ms
  ✗ sums.add  3.4 s
  42
  done in 120 ms
  → sums.mean
  failed after 3 ms
  ValueError: no data
waiting 3 s: rate limit
older turns were folded
It is **42**.
0 tokens in, 0 out · 1 request
"""


def open_console(*, is_terminal: bool, width: int = 80) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=is_terminal, width=width, height=24, markup=False, emoji=False, highlight=False,
        soft_wrap=True, color_system="standard" if is_terminal else None, no_color=not is_terminal, legacy_windows=False,
        _environ={"TERM": "xterm"},
    )  # fmt: skip


def read(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def show(console: Console, *events: ChatEvent) -> str:
    screen = TurnScreen(console)
    for event in events:
        screen.show(event)
    return read(console)


def replay(text: str, width: int = 80) -> list[str]:
    """What a terminal shows after ``text``: lines, carriage returns, cursor up, and erasing; colours are left out."""
    rows, row, column, place = [""], 0, 0, 0
    while place < len(text):
        char = text[place]
        if char == "\x1b":
            end = next(i for i in range(place + 2, len(text)) if text[i].isalpha())
            number, action = text[place + 2 : end], text[end]
            if action == "A":
                row -= int(number or 1)
            elif action == "J":
                rows = [*rows[:row], rows[row][:column]]
            elif action == "K":
                rows[row] = rows[row][:column]
            place = end
        elif char == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif char == "\r":
            column = 0
        else:
            if column == width:
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            rows[row] = rows[row][:column] + char + rows[row][column + 1 :]
            column += 1
        place += 1
    return rows


def test_a_turn_is_shown_in_order_without_colours() -> None:
    assert show(open_console(is_terminal=False), *TURN) == PLAIN


def test_a_terminal_shows_the_same_lines_with_colours() -> None:
    seen = show(open_console(is_terminal=True), *TURN)
    lines = [line.rstrip() for line in replay(seen)]
    expected = PLAIN.replace("**42**", "42").splitlines()
    expected[3] = "│"
    assert lines == [*expected, ""]
    assert "\x1b[94;49mfrom" in seen


def test_a_program_that_was_not_streamed_is_shown_whole_once() -> None:
    seen = show(open_console(is_terminal=False), ProgramStarted(program=1, code="print(1)"))
    assert seen == "│ print(1)\n"


def test_nothing_that_a_model_or_a_tool_says_controls_the_terminal() -> None:
    evil = "\x1b[2J\x07\r\x9b"
    seen = show(
        open_console(is_terminal=False),
        TextDelta(text=f"a{evil}"),
        CodeDelta(program=1, text=f"b{evil}"),
        ProgramPrinted(program=1, text=f"c{evil}"),
        NestedCallFinished(program=1, call=1, tool=f"d{evil}", ok=True, ms=1),
        ToolsSearched(query=f"e{evil}", found=(evil,)),
        TurnNoted(text=evil),
        ModelDelayed(why=evil, seconds=1),
        ProgramFinished(program=1, execution="e", status="failed", text=evil, ms=1),
        TurnAnswered(
            answer=ChatAnswer(
                conversation="c", turn=1, status="failed", text=evil, mode="code", problem=ChatProblem(code="x", message=evil)
            )
        ),
    )
    assert not set(evil) - set("[2J") & set(seen)


def test_a_long_line_is_written_anew_over_all_of_its_rows() -> None:
    console = open_console(is_terminal=True, width=20)
    stream = LineStream(console, style_answer())
    text = "before\n" + "a `long` line that takes several rows of it\nafter"
    for place in range(0, len(text), 7):
        stream.write(text[place : place + 7])
    stream.close()
    assert "".join(replay(read(console), 20)).replace("before", "").startswith("a long line that takes")
    assert replay(read(console), 20)[0] == "before"
    assert "`" not in "".join(replay(read(console), 20))


def test_a_line_that_is_higher_than_the_terminal_stays_as_it_was_written() -> None:
    console = open_console(is_terminal=True, width=10)
    stream = LineStream(console, style_answer())
    stream.write("`x` " * 100 + "\n")
    assert "\x1b" not in read(console)


def test_calls_beyond_the_first_are_counted_in_one_line() -> None:
    console = open_console(is_terminal=True)
    calls = CallLines(console)
    for number in range(500):
        calls.add("sums.add", 2, ok=number != 499)
    calls.close()
    lines = [line.rstrip() for line in replay(read(console))]
    assert lines[SHOWN_CALLS:] == ["  … 500 calls, 1 failed, 1.0 s in all", ""]


def test_programs_between_fences_are_coloured_as_programs() -> None:
    style = style_answer()
    shown = [style(line) for line in ["## Title", "```python", "x = '''", "for`` '''", "```", "for **x**"]]
    assert [line.plain for line in shown] == ["Title", "```python", "│ x = '''", "│ for`` '''", "```", "for x"]
    assert len(style_program()("for x in y:").spans) > 3


@pytest.mark.parametrize(
    ("given", "text"), [(0.4, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (119_999, "120.0 s"), (180_000, "3 min")]
)
def test_times_are_written_for_people(given: float, text: str) -> None:
    assert format_milliseconds(given) == text


def test_a_cost_names_what_is_known() -> None:
    usage = ChatUsage(input_tokens=1_234, output_tokens=56, cached_tokens=800, requests=2, money=0.00123)
    assert describe_cost(usage) == "1,234 tokens in (800 cached), 56 out · 2 requests · $0.0012"
