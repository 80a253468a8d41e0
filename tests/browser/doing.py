"""What tests of the dashboard do over and over: run programs, be somebody, put answers in the service's mouth."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.watching import Watched

WRITE = "from servers.shop import write_query\nwrite_query(query=\"INSERT INTO orders (item) VALUES ('{}')\")"
WAITS = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('ended')\n6 * 7"


def done(client: Any, code: str, status: str, **fields: str) -> dict[str, Any]:
    """The outcome of a program that ends so."""
    outcome = client.post("/execute", json={"code": code, **fields}).json()
    assert outcome["status"] == status, outcome
    return outcome


def waiting(client: Any, session: str) -> str:
    """An execution that goes on until there is a file ``go`` in its session."""
    client.post("/sessions", json={"name": session}).raise_for_status()
    return client.post("/execute", json={"code": WAITS, "session": session, "background": True}).json()["id"]


def go(client: Any, *sessions: str) -> None:
    """Let those end."""
    for session in sessions:
        client.put(f"/sessions/{session}/files/go", content=b"").raise_for_status()


def say_token(tab: Watched, token: str) -> None:
    """As a person does it."""
    page = tab.open("token")
    page.get_by_label("Token", exact=True).fill(token)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()


def answer(page: Page, where: str, make: Callable[[str], Any]) -> None:
    """From now on requests to ``where`` are answered with what ``make`` makes of their address; a number is a status."""

    def fulfill(route: Route) -> None:
        made = make(route.request.url)
        if isinstance(made, int):
            route.fulfill(status=made, json={"code": "sandbox", "message": "not now"})
        else:
            route.fulfill(json=made)

    page.route(where, fulfill)


def expect_focus(page: Page, text: str) -> None:
    """Wait until what has the focus says so: a page moves it after it is drawn."""
    expect(page.locator(":focus")).to_contain_text(text)


HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', {value: hidden, configurable: true})
  document.dispatchEvent(new Event('visibilitychange'))
}"""
"""A browser without a screen shows every tab at once: this is how the page learns that it is not looked at."""
