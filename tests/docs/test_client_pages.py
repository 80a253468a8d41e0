"""The page of each client shows what install writes there, and where."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gristmill.mcp_configs.client_places import Machine, list_clients
from gristmill.mcp_configs.our_entry import build_command, build_entry

PAGES = Path(__file__).parents[2] / "docs" / "clients"
ANN = Path("/home/ann")
KNOWN = list_clients(Machine(home=ANN, cwd=Path("/project")))
PARSERS: dict[str, Any] = {"json": json.loads, "text": tomllib.loads, "yaml": yaml.safe_load}


def test_every_client_has_a_page() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == sorted(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_the_page_shows_the_entry_and_the_file(name: str) -> None:
    client, text = KNOWN[name], (PAGES / f"{name}.md").read_text()
    found = re.search(r"^```(json|text|yaml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    ours = build_command(executable=ANN / ".local/bin/gristmill", config=ANN / "gristmill.toml", client=client, scope="user")
    assert PARSERS[found[1]](found[2]) == {client.key: {"gristmill": build_entry(client, ours)}}
    assert f"`~/{client.user.relative_to(ANN).as_posix()}`" in text
    assert (f"`{client.project.relative_to('/project').as_posix()}`" in text) if client.project else "no file per project" in text
