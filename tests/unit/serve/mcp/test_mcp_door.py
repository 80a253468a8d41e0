"""Handles are short only where all requests come from one user."""

from typing import Any

import pytest

from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.serve.mcp.mcp_door import McpDoor


async def open_no_hall() -> Any:
    raise AssertionError("not needed")


@pytest.mark.requirement("T46")
def test_only_the_door_of_the_local_user_has_one_user() -> None:
    def identify_by_token(_ctx: Any) -> Identity:
        return LOCAL_IDENTITY

    assert McpDoor(hall=open_no_hall, instructions="").has_one_user
    assert not McpDoor(hall=open_no_hall, instructions="", identify_caller=identify_by_token).has_one_user
