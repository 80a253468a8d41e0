"""The walls around a server's program, as the configuration says them."""

import pytest
from pydantic import ValidationError

from gristmill.config.sections.servers_section import ConfineConfig, ServerConfig


def test_without_the_section_a_server_is_not_confined() -> None:
    assert ServerConfig(command="server").confine is None


def test_an_empty_section_is_the_tightest() -> None:
    server = ServerConfig.model_validate({"command": "server", "confine": {}})
    assert server.confine == ConfineConfig(read=(), write=(), network=False)


def test_only_a_program_that_we_start_can_be_confined() -> None:
    with pytest.raises(ValidationError, match="it needs `command`"):
        ServerConfig.model_validate({"url": "https://crm.example/mcp", "confine": {}})


def test_a_wall_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError, match="forbidden"):
        ServerConfig.model_validate({"command": "server", "confine": {"reads": ["/"]}})
