"""Requests of an MCP client without a long pause are one conversation."""

import pytest

from gristmill.model import Identity
from gristmill.serve.mcp import conversation_names
from gristmill.serve.mcp.conversation_names import PAUSE_SECONDS, ConversationNames

ANN, BOB = Identity(caller="ann"), Identity(caller="bob")


def test_a_conversation_lasts_until_a_long_pause() -> None:
    now = 0.0
    names = ConversationNames(lambda: now)
    first, other = names.name(ANN), names.name(BOB)
    now = PAUSE_SECONDS
    assert names.name(ANN) == first != other
    now = 2 * PAUSE_SECONDS
    assert names.name(ANN) == first
    assert names.name(BOB) != other


def test_callers_that_are_remembered_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_names, "MOST_CALLERS", 2)
    names = ConversationNames(lambda: 0.0)
    first = names.name(ANN)
    for caller in "bc":
        names.name(Identity(caller=caller))
    assert names.name(ANN) != first
