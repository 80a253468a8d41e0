"""A connection remembers for a while which tools it has been shown; others, and the 2026 revision, do not."""

from types import SimpleNamespace
from typing import Any

from gristmill.serve.mcp.tools.shown_tools import MOST_SHOWN, SHOWN_SECONDS, ShownTools


class Handshake:
    """Stands for the parameters of ``initialize``, which a connection keeps."""


def make_ctx(handshake: Handshake | None, revision: str = "2025-11-25") -> Any:
    return SimpleNamespace(session=SimpleNamespace(client_params=handshake), protocol_version=revision)


def test_each_connection_knows_what_it_was_shown() -> None:
    shown, one, two = ShownTools(), Handshake(), Handshake()

    shown.note_shown(make_ctx(one), ["crm.get"])

    assert shown.list_shown(make_ctx(one)) == {"crm.get"}
    assert shown.list_shown(make_ctx(two)) == frozenset()
    assert shown.list_shown(make_ctx(None)) == frozenset()


def test_requests_without_a_connection_remember_nothing() -> None:
    shown, one = ShownTools(), Handshake()

    shown.note_shown(make_ctx(one, "2026-07-28"), ["crm.get"])

    assert shown.list_shown(make_ctx(one, "2026-07-28")) == frozenset()


def test_what_was_shown_long_ago_is_shown_again_and_little_is_kept() -> None:
    now, handshake = 0.0, Handshake()
    shown = ShownTools(lambda: now)
    shown.note_shown(make_ctx(handshake), [f"crm.get_{i}" for i in range(MOST_SHOWN + 5)])

    assert len(shown.list_shown(make_ctx(handshake))) == MOST_SHOWN
    now = SHOWN_SECONDS + 1
    assert shown.list_shown(make_ctx(handshake)) == frozenset()
