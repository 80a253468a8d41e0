"""A page that a person has open beside a gateway on the same machine: from a real browser, it gets nothing done and reads nothing.

The gateway lets this machine do everything here, approving included, so that nothing but the wall is in the way.
"""

import json
import threading
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, Response

from tests.browser.attacks import ATTACKS, FRAME, READS, UNSEEN, WORKING
from tests.browser.conftest import orders, told
from tests.e2e.http.conftest import Service

pytestmark = pytest.mark.requirement("T43")

WRITE = "from servers.shop import write_query\nwrite_query(query=\"INSERT INTO orders (item) VALUES ('by a page')\")"
ORIGINS = ("another site", "another port", "another name", "no origin", "rebound name")
HTML = "<!doctype html><title>page</title><body>hello"


class Hostile(BaseHTTPRequestHandler):
    """Somebody else's web server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if self.path == "/alone":
            self.send_header("Content-Security-Policy", "sandbox allow-scripts allow-forms")  # its origin is "null"
        self.end_headers()
        self.wfile.write(HTML.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307)
        self.send_header("Location", self.path.partition("?to=")[2])
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What pages aim at: the service, an execution to listen to, an approval to decide."""

    service: Service
    aim: dict[str, str]

    def executions(self) -> frozenset[str]:
        """Everything that was ever executed."""
        with self.service.client("boss") as client:
            return frozenset(one["id"] for one in client.get("/executions", params={"limit": 1000}).json()["executions"])

    def refused_reads(self) -> int:
        """How many reads the service has refused, by its own log."""
        fence = uuid.uuid4().hex
        with self.service.client("boss", headers={"X-Request-ID": fence}) as client:
            client.get("/tools")
        while not any(fence in line for line in self.service.lines):
            pass  # what was logged before is there when this is
        found = [json.loads(line) for line in self.service.lines if line.startswith("{")]
        return sum(one.get("method") == "GET" and one.get("status", 0) in (403, 421) for one in found)

    def standing(self) -> str:
        """Of the approval."""
        with self.service.client("boss") as client:
            return client.get(f"/approvals/{self.aim['approval']}").json()["standing"]


@pytest.fixture(scope="module")
def serve_settings() -> str:
    return 'local_scopes = ["execute", "read", "approve", "admin"]'


@pytest.fixture(scope="module")
def elsewhere() -> Generator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def ask(mill: Service, elsewhere: int) -> Callable[[], Target]:
    """Have a plan wait, and take note of what was executed so far."""

    with mill.client() as client:
        client.post("/sessions", json={"name": "default"}).raise_for_status()

    def prepare() -> Target:
        with mill.client("worker") as client:
            asked = client.post("/execute", json={"code": WRITE}).json()
        assert asked["status"] == "awaiting_approval", asked
        away = f"http://evil.example:{elsewhere}/away"
        aim = {"base": mill.url, "approval": asked["plan"]["id"], "execution": asked["id"], "away": away}
        return Target(service=mill, aim=aim)

    return prepare


def visit(page: Page, origin: str, target: Target, elsewhere: int) -> dict[str, str]:
    """Open a page of that origin; what it aims at."""
    addresses = {
        "another site": f"http://evil.example:{elsewhere}/", "another port": f"http://127.0.0.1:{elsewhere}/",
        "another name": f"http://localhost:{elsewhere}/", "no origin": f"http://evil.example:{elsewhere}/alone",
    }  # fmt: skip
    if origin in addresses:
        page.goto(addresses[origin])
        return target.aim
    # Its name led to its own server when the page was loaded, and leads to this machine since.
    host = "evil.example" if origin == "rebound name" else "127.0.0.1"
    base = f"http://{host}:{target.service.address[1]}"
    page.route(f"{base}/page", lambda route: route.fulfill(body=HTML, content_type="text/html"))
    page.goto(f"{base}/page")
    return {**target.aim, "base": base}


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_foreign_page_gets_nothing_done_and_reads_nothing(
    page: Page, ask: Callable[[], Target], elsewhere: int, origin: str
) -> None:
    target = ask()
    known, aim, read = target.executions(), visit(page, origin, target, elsewhere), target.refused_reads()
    written = orders(target.service)
    answers: dict[str, list[int]] = {attack: [] for attack in ATTACKS}
    learned: dict[str, Any] = {}
    for attack, script in ATTACKS.items():
        with listening(page, aim["base"], answers[attack]):
            learned[attack] = told(page, script, aim)
    assert {attack: one for attack, one in learned.items() if one is not None} == {}
    assert {attack: one for attack, one in answers.items() if min(one, default=400) < 400} == {}
    assert target.executions() == known
    assert (target.standing(), orders(target.service)) == ("pending", written)
    assert {attack for attack, one in answers.items() if not one} <= UNSEEN, "these may never have reached the service"
    assert target.refused_reads() - read >= READS, "nor these"


@pytest.mark.parametrize("attack", WORKING)
def test_the_same_from_a_page_of_our_own_works(page: Page, ask: Callable[[], Target], elsewhere: int, attack: str) -> None:
    target = ask()
    aim = visit(page, "our own", target, elsewhere)
    assert told(page, ATTACKS[attack], aim) is not None


def test_a_page_of_our_own_can_let_a_plan_pass(page: Page, ask: Callable[[], Target], elsewhere: int) -> None:
    target = ask()
    aim, written = visit(page, "our own", target, elsewhere), orders(target.service)
    assert json.loads(told(page, ATTACKS["approve, as JSON"], aim))["standing"] == "approved"
    with target.service.client("worker") as client:
        assert client.post("/execute", json={"resume": aim["execution"]}).json()["status"] == "ok"
    assert orders(target.service) == [*written, "by a page"]


@pytest.mark.parametrize("path", ["/dashboard/", "/docs"])
def test_no_foreign_page_can_show_ours_in_a_frame(page: Page, mill: Service, elsewhere: int, path: str) -> None:
    page.goto(f"http://127.0.0.1:{elsewhere}/")
    for address in (f"http://evil.example:{elsewhere}/", mill.url + path):
        told(page, FRAME, address)
    assert [frame.url.partition(":")[0] for frame in page.frames[1:]] == ["http", "chrome-error"]


def test_a_rebound_name_shows_no_dashboard(page: Page, mill: Service) -> None:
    answer = page.goto(f"http://evil.example:{mill.address[1]}/dashboard/")
    assert answer is not None
    assert (answer.status, answer.json()["rule"]) == (421, "http.host")


@contextmanager
def listening(page: Page, base: str, answers: list[int]) -> Generator[None]:
    """Take note of what the service answers, whether the page may see it or not."""

    def note(got: Response) -> None:
        if got.url.startswith(base):
            answers.append(got.status)

    page.on("response", note)
    yield
    page.remove_listener("response", note)
