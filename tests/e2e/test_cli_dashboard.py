"""The command that opens the dashboard: the address it prints signs in, and it says when nothing answers."""

import json
import socket
from pathlib import Path

from tests.e2e.test_cli import gristmill


def test_the_address_holds_a_token_of_the_local_user_that_expires(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        text = f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n[serve]\nport = {listening.getsockname()[1]}\n"
        (tmp_path / "gristmill.toml").write_text(text)
        made = gristmill("dashboard", "--json", "--hours", "1", cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        printed = gristmill("dashboard", "--print", cwd=tmp_path)
    assert json.loads(made.stdout)["url"].startswith("http://127.0.0.1:")
    assert "/dashboard/#/sign-in/gm_" in printed.stdout
    (first, second) = json.loads(gristmill("tokens", "list", "--json", cwd=tmp_path).stdout)
    assert (first["caller"], first["scopes"]) == ("local", ["execute", "read", "approve", "admin"])
    assert first["expires"] - first["created"] == 3_600
    assert second["expires"] is not None
    assert second["id"] in printed.stderr, "how to end it is said"


def test_where_nothing_answers_no_token_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    text = f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n[serve]\nport = {port}\n"
    (tmp_path / "gristmill.toml").write_text(text)
    failed = gristmill("dashboard", "--print", cwd=tmp_path)
    assert failed.returncode != 0
    assert "gristmill serve --http" in failed.stderr
    assert json.loads(gristmill("tokens", "list", "--json", cwd=tmp_path).stdout) == []
