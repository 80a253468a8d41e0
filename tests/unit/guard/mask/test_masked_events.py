"""Whoever listens hears masks, however the output was cut into pieces."""

import pytest

from gristmill.events import CallProgressed, CallStarted, Event, OutputWritten
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.masked_events import MOST_HELD_CHARACTERS, MaskedEmit
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault

MAIL = "ann@example.org"


def heard(*pieces: str) -> list[str]:
    events: list[Event] = []
    emit = MaskedEmit(events.append, Redactor(MaskVault(b"k" * 32), Detector()))
    for piece in pieces:
        emit(OutputWritten(execution="e", text=piece))
    emit.flush()
    return [event.text for event in events if isinstance(event, OutputWritten)]


@pytest.mark.parametrize("cut", range(1, len(MAIL)))
def test_an_address_cut_in_two_is_still_masked(cut: int) -> None:
    text = "".join(heard(f"to {MAIL[:cut]}", f"{MAIL[cut:]}\nnext"))
    assert "example" not in text
    assert text.startswith("to <EMAIL_")
    assert text.endswith("\nnext")


def test_whole_lines_are_heard_at_once_and_the_rest_at_the_end() -> None:
    assert heard("one\ntwo", " three\n", "four") == ["one\n", "two three\n", "four"]


def test_a_line_without_end_is_not_held_for_ever() -> None:
    pieces = heard("x" * MOST_HELD_CHARACTERS + f" {MAIL[:5]}", MAIL[5:])
    assert pieces[0] == "x" * MOST_HELD_CHARACTERS + " "
    assert "example" not in pieces[1]


def test_what_a_server_says_about_its_progress_is_masked_and_other_events_pass() -> None:
    events: list[Event] = []
    emit = MaskedEmit(events.append, Redactor(MaskVault(b"k" * 32), Detector()))
    started = CallStarted(execution="e", call=1, tool="t.u")
    emit(started)
    emit(CallProgressed(execution="e", call=1, tool="t.u", progress=1, message=f"wrote to {MAIL}"))
    assert events[0] is started
    assert isinstance(events[1], CallProgressed)
    assert "<EMAIL_" in (events[1].message or "")
