"""One browser and one running service for the tests of a file: Debian's Chromium, and `gristmill serve --http` over real servers."""

import json
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from gristmill.config.sections.serve_section import Scope
from gristmill.config.tree import load_config
from tests.browser.watching import Watched
from tests.e2e.http.conftest import Service, make_tokens, start
from tests.servers import HERE, chromium, python_command

SERVE = ("-m", "gristmill", "serve", "--http", "--config")
TOKENS: dict[str, tuple[str, str, tuple[Scope, ...]]] = {
    "worker": ("worker", "local", ("execute",)),
    "boss": ("boss", "local", ("read", "approve", "admin")),
    "rita": ("rita", "local", ("read", "approve")),  # what the guide advises for a person
}
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    # Names that lead to this machine, as a rebound one does; every other name leads nowhere.
    "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    # What newer browsers ask before a page reaches this machine is no defence of ours.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
]  # fmt: skip


def settings(state: Path, serve: str = "") -> str:
    """A configuration over the real time and SQLite servers and one with hostile texts; writing to the database asks."""
    database = state / "shop.db"
    with sqlite3.connect(database) as made:
        made.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT)")
    made.close()
    return f"""
[servers.time]
command = {json.dumps(python_command("mcp-server-time"))}
args = ["--local-timezone", "UTC"]
[servers.shop]
command = {json.dumps(python_command("mcp-server-sqlite"))}
args = ["--db-path", {json.dumps(str(database))}]
[servers.rude]
command = "python3"
args = [{json.dumps(str(HERE / "markup.py"))}]
[policy]
allow = ["time.*", "shop.read_query", "shop.list_tables", "rude.*"]
ask = ["shop.write_query"]
[sandbox]
warm = 2
concurrency = 4
[serve]
port = 0
{serve}
"""


def orders(service: Service) -> list[str]:
    """What was written to the database."""
    with sqlite3.connect(service.config.state_dir / "shop.db") as database:
        found = [str(item) for (item,) in database.execute("SELECT item FROM orders ORDER BY id")]
    database.close()
    return found


@pytest.fixture(scope="module")
def serve_settings() -> str:
    """Further lines of the section `serve`; a file may have its own."""
    return ""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory, state: Path, serve_settings: str) -> Generator[Service]:
    """The service, as a user starts it."""
    folder = tmp_path_factory.mktemp("mill")
    folder.chmod(0o755)  # code runs as another user when we are root
    text = settings(folder, serve_settings)
    (folder / "gristmill.toml").write_text(text)
    tokens = make_tokens(load_config(folder / "gristmill.toml", store={"path": str(folder)}), TOKENS)
    with start(folder, text, tokens, SERVE) as running:
        yield running


@pytest.fixture(scope="module")
def browser(mill: Service) -> Generator[Browser]:
    """The browser. It comes after the service, since its loop leaves no room for another in this thread."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=30_000)  # the machine may be busy
        opened = playwright.chromium.launch(executable_path=chromium.program(), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Generator[Page]:
    """A tab with nothing from before."""
    context = browser.new_context()
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(browser: Browser, mill: Service) -> Generator[Watched]:
    """A tab for the dashboard, of which everything is noted."""
    context = browser.new_context()
    context.set_default_timeout(30_000)
    yield Watched(context.new_page(), mill.url)
    context.close()


def told(page: Page, script: str, *arguments: Any) -> Any:
    """What ``script``, a function, comes to in the page; one that never ends comes to that."""
    late = "new Promise(done => setTimeout(() => done('it never ended'), 20000))"
    return page.evaluate(f"given => Promise.race([({script})(given), {late}])", list(arguments))
