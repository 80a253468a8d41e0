"""A handle belongs to the caller who opened it, and ends."""

from pathlib import Path

import pytest

from gristmill.errors import UnknownSession
from gristmill.serve.mcp.handles import DAYS, Handles, load_key


def _handles(now: float = 1_000_000.0, key: bytes = b"k" * 32) -> Handles:
    return Handles(key=key, now=lambda: now)


def test_a_handle_is_accepted_from_its_caller_after_a_restart() -> None:
    handle = _handles().open("ann")

    assert _handles(now=1_000_001.0).check(handle, "ann") == handle


@pytest.mark.requirement("T46")
def test_a_handle_is_unknown_to_another_caller() -> None:
    handle = _handles().open("ann")

    with pytest.raises(UnknownSession):
        _handles().check(handle, "bob")


@pytest.mark.parametrize("text", ["", "x", "new", "a" * 47, "../../etc", "ünïcode", "\ud800"])
def test_what_is_no_handle_is_an_unknown_session(text: str) -> None:
    with pytest.raises(UnknownSession):
        _handles().check(text, "ann")


def test_a_changed_handle_is_unknown() -> None:
    handle = _handles().open("ann")
    other = ("b" if handle[5] != "b" else "c").join((handle[:5], handle[6:]))

    with pytest.raises(UnknownSession):
        _handles().check(other, "ann")


def test_an_expired_handle_says_so() -> None:
    handle = _handles().open("ann")

    with pytest.raises(UnknownSession, match="expired"):
        _handles(now=1_000_000.0 + DAYS * 86_400 + 1).check(handle, "ann")


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    key = load_key(tmp_path / "state")

    assert load_key(tmp_path / "state") == key
    assert len(key) == 32
    assert (tmp_path / "state" / "handle-key").stat().st_mode & 0o777 == 0o600
