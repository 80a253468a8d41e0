"""Handles are short only where all requests come from one user."""

import uuid
from typing import Any

import pytest

from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.short_handles import read_short_handle, shorten_handle


async def open_no_hall() -> Any:
    raise AssertionError("not needed")


@pytest.mark.requirement("T46")
def test_only_the_door_of_the_local_user_has_short_handles() -> None:
    def identify_by_token(_ctx: Any) -> Identity:
        return LOCAL_IDENTITY

    handle = str(uuid.uuid4())

    assert len(McpDoor(hall=open_no_hall, instructions="").name_session(handle)) == 8
    assert McpDoor(hall=open_no_hall, instructions="", identify_caller=identify_by_token).name_session(handle) == handle


def test_a_short_handle_says_in_letters_how_the_handle_begins() -> None:
    assert shorten_handle("12e45678-0000-4000-8000-000000000000") == "bcoefghi"
    assert read_short_handle("bcoefghi") == "12e45678"


@pytest.mark.parametrize("text", ["", "bcoefgh", "bcoefghij", "bcoefghz", "12e45678", "new", "bcoefgh\n", "BCOEFGHI"])
def test_what_is_not_a_short_handle_is_taken_as_it_is(text: str) -> None:
    assert read_short_handle(text) is None


def test_a_handle_of_another_kind_stays_whole() -> None:
    assert shorten_handle("work") == "work"
