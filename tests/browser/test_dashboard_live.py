"""Pages that follow what runs: over few connections, and honest when there is none."""

import re
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import SERVE, settings
from tests.browser.doing import HIDE, WAITS, WRITE, answer, done, expect_focus, go, waiting
from tests.browser.watching import PHONE, WIDE, Watched
from tests.e2e.http.conftest import Service, start

ASKED = "fetch('../whoami').then(answer => answer.status)"
STREAMS = re.compile(r"/events$")
NUMBERS = "import time\nfor n in range(2_000): print('line', n, '.' * 100, flush=True)\ntime.sleep(0.5)"


@pytest.fixture(scope="module")
def serve_settings() -> str:
    return "background = 20"


def test_much_that_runs_leaves_room_for_other_requests(tab: Watched, mill: Service) -> None:
    sessions = [f"much-{number}" for number in range(7)]
    asked = list[str]()
    tab.page.on("request", lambda request: asked.append(request.url))
    page = tab.open()
    with mill.client() as client:
        for session in sessions:
            waiting(client, session)
        expect(page.locator("li.card")).to_have_count(len(sessions))
        assert page.evaluate(f"Promise.race([{ASKED}, new Promise(done => setTimeout(() => done('none'), 10000))])") == 200
        expect(page.locator("li.card").last).to_contain_text("begun", timeout=60_000)
        assert len([url for url in asked if STREAMS.search(url)]) == 1
        go(client, *sessions)
    expect(page.locator("li.card")).to_have_count(0, timeout=60_000)
    assert tab.complaints == []


def test_a_hidden_tab_lets_go_of_its_stream_and_takes_it_up_when_it_is_shown(tab: Watched, mill: Service) -> None:
    ended = list[str]()
    tab.page.on("requestfailed", lambda request: ended.append(request.url))
    page = tab.open()
    expect(page.locator("#running .badge")).to_have_text("0")
    page.evaluate(HIDE, True)
    page.wait_for_timeout(300)
    assert [url for url in ended if STREAMS.search(url)] == [f"{mill.url}/events"]
    with mill.client() as client:
        waiting(client, "unseen")
        expect(page.locator("#running .badge")).to_have_text("0")
        page.evaluate(HIDE, False)
        expect(page.locator("#running .badge")).to_have_text("1")
        go(client, "unseen")
        expect(page.locator("#running .badge")).to_have_text("0")


def test_a_stream_that_is_refused_is_no_proof_that_nothing_runs(tab: Watched, mill: Service) -> None:
    answer(tab.page, "**/events", lambda _: 503)
    page = tab.open()
    expect(page.get_by_text("What runs now is not known")).to_be_visible()
    assert page.get_by_text("Nothing is running").count() == 0
    page.unroute("**/events")
    expect(page.get_by_text(re.compile("Nothing is running|Nothing has run"))).to_be_visible()


def test_a_cancelled_run_is_no_error_and_keeps_the_reader_in_place(tab: Watched, mill: Service) -> None:
    page = tab.open("playground")
    page.get_by_label("Code", exact=True).fill("import time\ntime.sleep(300)")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#watched")).to_contain_text("cancelled")
    assert page.locator(".failure, .status.bad").count() == 0
    expect_focus(page, "Execution")


def test_cancelled_by_keys_on_its_page_it_leaves_the_reader_there(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        page = tab.open(f"executions/{waiting(client, 'unwanted')}")
    page.get_by_role("button", name="Cancel").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".facts .status")).to_have_text("cancelled")
    expect(page.locator("main")).to_be_focused()


def test_the_beginning_of_long_output_is_said_to_be_missing(tab: Watched, mill: Service) -> None:
    page = tab.open("playground")
    page.get_by_label("Code", exact=True).fill(NUMBERS)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#watched")).to_contain_text("ok")
    expect(page.locator(".output")).not_to_contain_text("line 0 ")
    expect(page.get_by_text("The beginning is missing")).to_be_visible()
    page.locator(".notes a").first.click()
    expect(page.get_by_role("table", name="Files")).to_contain_text("-output.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)  # code runs as another user when we are root
    return tmp_path


@pytest.fixture
def port() -> int:
    """One that is free, so that the service can come back under the same address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def again(folder: Path, port: int) -> Callable[[], AbstractContextManager[Service]]:
    """Starts a service of its own, each time over the same state and at the same address."""
    text = settings(folder).replace("port = 0", f"port = {port}")
    return lambda: start(folder, text, {}, SERVE)


def test_a_service_that_dies_is_missed_and_found_again(
    browser: Browser, again: Callable[[], AbstractContextManager[Service]]
) -> None:
    context = browser.new_context()
    context.set_default_timeout(30_000)
    with again() as mill, mill.client() as client:
        id_ = client.post("/execute", json={"code": WAITS, "session": "lost", "background": True}).json()["id"]
        tab, now, record = (Watched(context.new_page(), mill.url) for _ in range(3))
        page, cards, audit = tab.open(f"executions/{id_}"), now.open(), record.open("audit")
        expect(page.get_by_label("Output")).to_contain_text("begun")
        expect(cards.locator("li.card")).to_have_count(1)
        mill.end(signal.SIGKILL)
        expect(page.get_by_text("The connection to the service is lost; trying again.")).to_be_visible()
        expect(cards.get_by_text("The connection to the service is lost; trying again.")).to_be_visible()
        audit.get_by_role("button", name="Verify the record").click()
        expect(audit.get_by_role("alert")).to_have_text("The service does not answer.")
        frozen = [page.locator(".lead").inner_text(), cards.locator(".clock").inner_text()]
        assert "Running for" not in frozen[0]
        assert tab.grave() == []
        page.wait_for_timeout(2_500)
        assert [page.locator(".lead").inner_text(), cards.locator(".clock").inner_text()] == frozen
    with again():
        expect(page.get_by_text("The connection to the service is lost")).to_have_count(0, timeout=60_000)
        expect(audit.get_by_role("alert")).to_have_count(0, timeout=60_000)
        expect(page.locator(".facts .status")).to_have_text("interrupted")
        expect(page.get_by_text("kept sealed")).to_be_visible()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        expect(cards.locator("#running .badge")).to_have_text("0", timeout=60_000)
        page = tab.open("executions")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=id_[:8]))
        expect(row).to_contain_text("interrupted")
    context.close()


def test_what_another_process_runs_is_said_and_followed_to_its_end(browser: Browser, folder: Path) -> None:
    context = browser.new_context()
    context.set_default_timeout(30_000)
    text = settings(folder)
    with start(folder, text, {}, SERVE) as near, start(folder, text, {}, SERVE) as far, far.client() as client:
        ended, lost = waiting(client, "far"), waiting(client, "dies")
        tab, other = Watched(context.new_page(), near.url), Watched(context.new_page(), near.url)
        now = tab.open()
        expect(now.get_by_text("2 executions run in another process")).to_be_visible()
        page, dying = tab.open(f"executions/{ended}"), other.open(f"executions/{lost}")
        for shown in (page, dying):
            expect(shown.get_by_text("Another process of the service runs it.")).to_be_visible()
            assert shown.get_by_role("button", name="Cancel").count() == 0, "nobody here could do it"
        assert (page.get_by_role("alert").count(), tab.complaints, other.complaints) == (0, [], [])
        go(client, "far")
        expect(page.locator(".facts .status")).to_have_text("ok")
        far.end(signal.SIGKILL)
        expect(dying.locator(".facts .status")).to_have_text("interrupted")
        expect(dying.get_by_role("button", name="Resume")).to_be_visible()
    context.close()


@pytest.mark.parametrize(("name", "size"), [("desktop", WIDE), ("phone", PHONE)])
def test_the_first_page_says_what_needs_a_person_and_leads_there(
    tab: Watched, mill: Service, name: str, size: tuple[int, int]
) -> None:
    with mill.client() as client, mill.client("worker") as worker:
        for _ in range(2):
            done(client, "{}['missing']", "failed", session="needy")
        done(worker, WRITE.format("needs a person"), "awaiting_approval")
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    answer(tab.page, "**/tools", lambda _: [{
        "name": "away", "kind": "stdio", "state": "failed", "tools": 0, "tokens": 0, "era": None, "error": "it ended at once",
        "changed": 0, "flagged": 0, "confined": False,
    }])  # fmt: skip
    page = tab.open()
    strip = page.locator(".attention")
    expect(strip.get_by_role("link", name=re.compile(r"plans? waits? for a decision"))).to_be_visible()
    expect(strip).to_contain_text("min left")
    expect(strip).to_contain_text("The server away is down")
    expect(page.locator(".headline")).to_contain_text(re.compile(r"\$[\d.]+ (saved|more)"))
    assert tab.too_wide() <= 0
    for scheme in ("light", "dark"):
        tab.show(f"now-{name}-{scheme}", size, scheme)
        assert tab.grave() == []
    page.get_by_role("button", name="1 h").click()
    expect(page).to_have_url(re.compile(r"range=1h"))
    strip.get_by_role("link", name=re.compile("executions?: KeyError")).click()
    expect(page.locator("h1")).to_have_text("Executions")
    expect(page.get_by_label("Contains")).to_have_value("KeyError")
    expect(page.locator("tbody tr").first).to_contain_text("KeyError: 'missing'")
    page.get_by_role("button", name=re.compile("^Since")).click()
    expect(page).not_to_have_url(re.compile("since="))
    page = tab.open()
    page.locator(".tile", has_text="Executions").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"#/executions\?since=\d+"))
    assert not tab.complaints
