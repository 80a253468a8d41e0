"""Which server a configuration means, apart from its name."""

from pathlib import Path

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.upstream.server_origin import hash_origin


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"command": "npx", "args": ("-y", "@acme/crm@1.2.3")}, {"command": "npx", "args": ("-y", "@acme/crm@2.0.0-rc.1")}),
        ({"command": "npx", "args": ("@acme/crm",)}, {"command": "npx", "args": ("@acme/crm@latest",)}),
        ({"command": "uvx", "args": ("crm==1.0",)}, {"command": "uvx", "args": ("crm==1.1",)}),
        ({"command": "docker", "args": ("run", "acme/crm:1.0")}, {"command": "docker", "args": ("run", "acme/crm:latest")}),
        ({"command": "crm", "call_seconds": 5.0}, {"command": "crm", "enabled": False, "exclude": ("x",)}),
        ({"url": "https://x.example/mcp"}, {"url": "https://x.example/mcp", "headers": {"X-Team": "a"}}),
    ],
)
def test_another_version_or_setting_is_the_same_server(one: dict[str, object], other: dict[str, object]) -> None:
    assert hash_origin(ServerConfig.model_validate(one)) == hash_origin(ServerConfig.model_validate(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"command": "npx", "args": ("@acme/crm",)}, {"command": "npx", "args": ("@evil/crm",)}),
        ({"command": "npx", "args": ("@acme/crm",)}, {"command": "npx"}),
        ({"command": "uvx", "args": ("a",)}, {"command": "pipx", "args": ("a",)}),
        ({"url": "https://x.example/mcp"}, {"url": "https://y.example/mcp"}),
        ({"url": "http://localhost:8080"}, {"url": "http://localhost:8081"}),
        ({"openapi": "a.json"}, {"python": "a"}),
    ],
)
def test_another_program_or_address_is_another_server(one: dict[str, object], other: dict[str, object]) -> None:
    assert hash_origin(ServerConfig.model_validate(one)) != hash_origin(ServerConfig.model_validate(other))


def test_a_relative_file_is_another_program_in_each_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.py").touch()
    script, package = ServerConfig(command="python", args=("server.py",)), ServerConfig(command="npx", args=("crm",))
    assert hash_origin(script, tmp_path / "one") != hash_origin(script, tmp_path / "two")
    assert hash_origin(package, tmp_path / "one") == hash_origin(package, tmp_path / "two")
