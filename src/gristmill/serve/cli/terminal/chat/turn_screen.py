"""Shows the events of a turn as they happen: text, the program as it is written, its calls, and what the turn cost."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from gristmill.chat.chat_events import (
    ApprovalNeeded,
    ChatAnswer,
    ChatEvent,
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
from gristmill.serve.cli.terminal.chat.call_lines import CallLines, format_milliseconds
from gristmill.serve.cli.terminal.chat.line_styles import BAR, StyleLine, style_answer, style_program
from gristmill.serve.cli.terminal.chat.stream_lines import LineStream
from gristmill.serve.cli.terminal.safe_output import neutralize_text, style_parts

FAILURE_LINES = 6
"""How many lines of a failed program's outcome are shown."""
NAMED_TOOLS = 5
OUTPUT_MARGIN = "  "


class AnswerKeeper:
    """Shows nothing, and keeps the answer of the last turn."""

    answer: ChatAnswer | None = None

    def show(self, event: ChatEvent) -> None:
        """Keeps the answer."""
        if isinstance(event, TurnAnswered):
            self.answer = event.answer

    def interrupt(self) -> None:
        """Does nothing: nothing is being shown."""


class TurnScreen(AnswerKeeper):
    """What a person sees of a conversation."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._calls = CallLines(console)
        self._stream: LineStream | None = None
        self._streamed: object = None
        self._shown_programs: set[int] = set()
        self._is_waiting = False
        self._show: Mapping[type[Any], Callable[[Any], None]] = {
            TurnBegan: self._begin, TextDelta: self._add_text, CodeDelta: self._add_code, ProgramStarted: self._start_program,
            ProgramPrinted: self._add_output, NestedCallFinished: self._add_call, ProgramFinished: self._finish_program,
            ToolsSearched: self._add_search, ApprovalNeeded: self._await_person, ModelDelayed: self._add_delay,
            TurnNoted: self._add_note, TurnAnswered: self._end,
        }  # fmt: skip

    def show(self, event: ChatEvent) -> None:
        """Shows one event."""
        super().show(event)
        if (show := self._show.get(type(event))) is not None:
            show(event)

    def interrupt(self) -> None:
        """Ends what is shown in the middle of a turn."""
        self._switch()

    def _begin(self, event: TurnBegan) -> None:
        self.answer = None
        self._shown_programs.clear()
        self._switch()
        if event.why:
            self._print_dim(f"{event.mode}: {event.why}")
        self._wait()

    def _add_text(self, event: TextDelta) -> None:
        self._write(event.text, "text", style_answer, "")

    def _add_code(self, event: CodeDelta) -> None:
        self._shown_programs.add(event.program)
        self._write(event.text, ("code", event.program), style_program, BAR)

    def _start_program(self, event: ProgramStarted) -> None:
        if event.tool is not None:
            self._switch()
            self._console.print(style_parts(("  → ", "cyan"), event.tool))
        elif event.program not in self._shown_programs:
            self._write(event.code, ("code", event.program), style_program, BAR)
        self._switch()
        self._wait()

    def _add_output(self, event: ProgramPrinted) -> None:
        self._calls.make_room()
        self._write(event.text, "output", _style_output, OUTPUT_MARGIN)

    def _add_call(self, event: NestedCallFinished) -> None:
        self._close_stream()
        self._calls.add(event.tool, event.ms, ok=event.ok)

    def _finish_program(self, event: ProgramFinished) -> None:
        self._switch()
        took = format_milliseconds(event.ms)
        if event.status == "ok":
            self._print_dim(f"  done in {took}")
        else:
            self._console.print(style_parts((f"  {event.status}", "yellow"), (f" after {took}", "dim")))
            # The first line of what the model reads says the same.
            told = [line for line in event.text.strip().splitlines() if not line.startswith(f"{event.status}, id ")]
            for line in told[:FAILURE_LINES]:
                self._print_dim(f"  {line}")
        self._wait()

    def _add_search(self, event: ToolsSearched) -> None:
        self._switch()
        more = f" and {len(event.found) - NAMED_TOOLS} more" if len(event.found) > NAMED_TOOLS else ""
        self._print_dim(f"searched “{event.query}”: {', '.join(event.found[:NAMED_TOOLS]) or 'nothing'}{more}")
        self._wait()

    def _await_person(self, _event: ApprovalNeeded) -> None:
        self._switch()  # the question itself is asked with the answer of the turn

    def _add_delay(self, event: ModelDelayed) -> None:
        self._switch()
        self._console.print(neutralize_text(f"waiting {event.seconds:.0f} s: {event.why}"), style="yellow")
        self._wait()

    def _add_note(self, event: TurnNoted) -> None:
        self._switch()
        self._console.print(neutralize_text(event.text), style="yellow")

    def _end(self, event: TurnAnswered) -> None:
        self._switch()
        answer = event.answer
        if answer.problem is not None:
            again = "" if answer.problem.retry_after is None else f" (try again in {answer.problem.retry_after:.0f} s)"
            style = "yellow" if answer.status == "stopped" else "red"
            self._console.print(neutralize_text(answer.problem.message + again), style=style)
        elif answer.status == "stopped":
            self._console.print("stopped", style="yellow")
        self._print_dim(describe_cost(answer.usage))

    def _write(self, text: str, kind: object, make_style: Callable[[], StyleLine], margin: str) -> None:
        if self._stream is None or self._streamed != kind:
            self._close_stream()
            self._clear_waiting()
            self._stream, self._streamed = LineStream(self._console, make_style(), margin=margin), kind
        self._stream.write(text)

    def _close_stream(self) -> None:
        self._clear_waiting()
        if self._stream is not None:
            self._stream.close()
        self._stream = self._streamed = None

    def _switch(self) -> None:
        """Closes what is being written, so that something else can be shown."""
        self._close_stream()
        self._calls.close()

    def _wait(self) -> None:
        if self._console.is_terminal and not self._console.is_dumb_terminal and not self._is_waiting:
            self._console.print("…", style="dim", end="")
            self._console.file.flush()
            self._is_waiting = True

    def _clear_waiting(self) -> None:
        if self._is_waiting:
            self._console.file.write("\r\x1b[K")
        self._is_waiting = False

    def _print_dim(self, text: str) -> None:
        self._console.print(neutralize_text(text), style="dim")


def _style_output() -> StyleLine:
    return lambda line: Text(OUTPUT_MARGIN + line, style="dim")


def describe_cost(usage: ChatUsage) -> str:
    """Describes in one line what a turn or a conversation cost."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    requests = f"{usage.requests} request{'' if usage.requests == 1 else 's'}"
    money = "" if usage.money is None else f" · ${usage.money:.4f}" if usage.money < 0.1 else f" · ${usage.money:.2f}"
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out · {requests}{money}"
