"""Cycles are not looked for while very many values are masked, and are again afterwards."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.pause_gc import pause_collection
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Json


@contextmanager
def collector(*, on: bool) -> Generator[None]:
    was_on = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("on", [True, False])
def test_it_is_off_within_and_afterwards_as_it_was(on: bool) -> None:
    with collector(on=on):
        with pause_collection():
            within = gc.isenabled()
        assert (within, gc.isenabled()) == (False, on)


def test_it_is_on_again_after_a_failure() -> None:
    with collector(on=True):
        with pytest.raises(ValueError, match="no"), pause_collection():
            raise ValueError("no")
        assert gc.isenabled()


def states_while_masking(value: Json) -> set[bool]:
    """Whether it was on when new values were kept."""
    seen: set[bool] = set()

    def note(_mask: str, _value: str, _kind: str) -> None:
        seen.add(gc.isenabled())

    with collector(on=True):
        Redactor(MaskVault(b"k" * 32, on_new=note), Detector()).mask(value)
        assert gc.isenabled()
    return seen


def test_it_is_off_for_many_strings_and_for_a_long_one_only() -> None:
    mails = [f"ann{number}@example.com" for number in range(2_000)]
    assert states_while_masking(mails) == states_while_masking(" ".join(mails * 2)) == {False}
    assert states_while_masking(mails[:3]) == states_while_masking(" ".join(mails[:3])) == {True}
