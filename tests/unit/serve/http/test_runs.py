"""What is told of a run while it is under way."""

from gristmill.events import CallFinished, CallStarted, OutputWritten
from gristmill.serve.http.runs import LINE_CHARACTERS, Run


def run() -> Run:
    return Run(id="e", tenant="t", caller="c", session=None, began=0.0)


def test_the_last_line_is_the_last_one_that_says_something() -> None:
    one = run()
    one.hear(OutputWritten(execution="e", text="first\n  second  \n\n"))
    assert one.line == "second"
    one.hear(OutputWritten(execution="e", text="\n \n"))
    assert one.line == "second"
    one.hear(OutputWritten(execution="e", text="x" * 10_000))
    assert one.line == "x" * LINE_CHARACTERS


def test_calls_are_open_until_they_are_answered() -> None:
    one = run()
    for number, tool in ((1, "crm.find"), (2, "mail.send")):
        one.hear(CallStarted(execution="e", call=number, tool=tool))
    one.hear(CallFinished(execution="e", call=1, tool="crm.find", ok=False))
    assert list(one.open_calls.values()) == ["mail.send"]


def test_whoever_watches_hears_of_every_step() -> None:
    one, told = run(), list[int]()
    one.on_change = lambda: told.append(1)
    one.hear(OutputWritten(execution="e", text="a"))
    one.hear(CallStarted(execution="e", call=1, tool="crm.find"))
    assert told == [1, 1]
