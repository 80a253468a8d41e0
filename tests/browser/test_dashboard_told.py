"""What the pages tell is true for whoever reads it: what a token does not show, what is wrong with a server, who did what when."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.doing import answer, done, say_token, waiting
from tests.browser.watching import PHONE, Watched
from tests.e2e.http.conftest import Service

NOWHERE = "from servers import time\ntry: time.get_current_time(timezone='Nowhere')\nexcept Exception as error: print(error)"


@pytest.fixture(scope="module")
def serve_settings() -> str:
    sly = json.dumps(str(Path(__file__).with_name("sly.py")))
    return f'[servers.sly]\ncommand = "python3"\nargs = [{sly}]\n'


def test_whoever_may_read_and_approve_is_told_what_that_does_not_show(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        ran = done(worker, "1", "ok", session="private")["id"]
    say_token(tab, mill.tokens["rita"])
    page = tab.open("sessions")
    expect(page.locator(".empty")).to_contain_text("Your token does not show sessions.")
    assert page.get_by_text("There is no session").count() == 0
    page = tab.open("skills")
    expect(page.locator(".empty")).to_contain_text("Your token shows no skill.")
    page = tab.open(f"executions/{ran}")
    expect(page.locator(".facts")).to_contain_text("private")
    assert page.get_by_role("link", name="private").count() == 0
    page = tab.open("sessions/private")
    expect(page.locator("h1")).to_have_text("private")
    expect(page.locator(".empty")).to_contain_text("belongs to another caller")


def test_a_session_whose_name_no_address_can_hold_is_found_all_the_same(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        real: dict[str, Any] = client.post("/sessions", json={"name": "slashed"}).json()
    answer(tab.page, "**/sessions?limit=*", lambda _: [{**real, "name": "a/b"}])
    page = tab.open("sessions/a%2Fb")
    expect(page.locator("h1")).to_have_text("a/b")
    expect(page.get_by_text("The workspace is empty.")).to_be_visible()


def server(name: str, state: str, **fields: Any) -> dict[str, Any]:
    known = {"kind": "stdio", "tools": 0, "tokens": 0, "era": None, "error": None, "changed": 0, "flagged": 0, "confined": False}
    return {"name": name, "state": state, **known, **fields}


def test_what_is_wrong_with_a_server_is_said_in_full(tab: Watched) -> None:
    wrong = "it ended at once; it said: " + "no such option " * 40 + "and that is all"
    rows = [server("well", "idle"), server("broken", "failed", error=wrong)]
    answer(tab.page, "**/tools", lambda _: rows)
    answer(tab.page, "**/tools/broken", lambda _: [])
    page = tab.open("tools")
    expect(page.locator(".tile").first).to_contain_text("1 failed")
    assert page.locator(".tile").get_by_text("ready").count() == 0, "an idle server is well"
    page = tab.open("tools/broken")
    expect(page.locator(".facts")).to_contain_text("failed")
    expect(page.get_by_label("What is wrong")).to_contain_text("and that is all")


def test_a_suspicious_definition_is_named(tab: Watched, mill: Service) -> None:
    page = tab.open("tools/sly")
    expect(page.locator("main")).to_contain_text("1 definition is suspicious", timeout=60_000)
    expect(page.locator(".suspects")).to_contain_text("look: hidden characters in description: \\u200b\\u200b")
    expect(page.locator(".facts")).to_contain_text("MCP before 2026-07-28")
    page = tab.open("tools/sly/look")
    expect(page.get_by_label("Warnings")).to_contain_text("hidden characters")


def test_a_record_says_who_what_and_when(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        worker.get("/tools/search", params={"query": "what time is it there"}).raise_for_status()
        done(worker, "import socket as so, os\n1", "ok")
    page = tab.open("audit?kind=search")
    row = page.locator(".records summary").first
    expect(row).to_contain_text("what time is it there")
    expect(row).to_contain_text("worker")
    assert re.search(r"\d+ \w{3} 20\d\d, \d\d:\d\d:\d\d", row.inner_text())
    row.click()
    expect(page.locator(".records details[open]")).to_contain_text(re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d"))
    expect(page.locator(".lead")).to_contain_text("UTC")
    page.get_by_label("Until").fill("2020-01-01T00:00:00")
    page.get_by_label("Until").blur()
    expect(page.locator(".empty")).to_contain_text("No record fits.")
    expect(page).to_have_url(re.compile("until=2020-01-01T00%3A00"))
    page.get_by_role("button", name="No filter").click()
    expect(page.locator(".records summary").first).to_be_visible()


def test_a_failed_call_is_told_apart_by_a_word_and_can_be_seen_to_open(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        ran = done(client, NOWHERE, "ok")["id"]
    page = tab.open(f"executions/{ran}")
    call = page.locator(".timeline summary").first
    expect(call).to_contain_text(re.compile("time.get_current_time .*failed"))
    assert page.evaluate("getComputedStyle(document.querySelector('.timeline summary'), '::before').content") == '"▸"'


def test_a_call_that_is_open_says_why_its_arguments_are_not_shown(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        waiting(client, "calls")
        code = "from servers import time as t\nimport os, time\nt.get_current_time(timezone='UTC')\nwhile not os.path.exists('stop'): time.sleep(0.01)"
        client.post("/sessions", json={"name": "calling"}).raise_for_status()
        id_ = client.post("/execute", json={"code": code, "session": "calling", "background": True}).json()["id"]
        page = tab.open(f"executions/{id_}")
        page.locator(".timeline summary").first.click()
        expect(page.locator(".call-more")).to_contain_text("once the execution has ended")
        client.put("/sessions/calling/files/stop", content=b"").raise_for_status()
        client.put("/sessions/calls/files/go", content=b"").raise_for_status()
        expect(page.locator(".facts .status")).to_have_text("ok")


@pytest.mark.parametrize(
    ("place", "heading", "title"),
    [
        ("nothing/here", "There is no such page", "There is no such page"),
        ("executions/nobody-knows", "Execution nobody-k", "Execution nobody-k"),
        ("tools/nobody", "nobody", "Server nobody"),
        ("skills/nobody", "nobody", "Skill nobody"),
        ("sessions/nobody", "nobody", "Session nobody"),
        ("approvals/nobody", "Plan", "Plan"),
    ],
)
def test_a_page_of_something_unknown_has_a_heading_and_a_title(tab: Watched, place: str, heading: str, title: str) -> None:
    page = tab.open(place)
    expect(page.locator("h1")).to_have_text(heading)
    expect(page).to_have_title(f"{title} · Gristmill")


def test_what_cannot_be_had_can_be_asked_for_again(tab: Watched) -> None:
    answer(tab.page, "**/tools", lambda _: 503)
    page = tab.open("tools")
    expect(page.get_by_role("alert")).to_contain_text("Not now.")
    page.unroute("**/tools")
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("table", name="Servers")).to_be_visible()


def test_charts_say_how_long_a_bar_is_and_numbers_are_written_one_way(browser: Browser, mill: Service) -> None:
    context = browser.new_context(locale="de-DE", timezone_id="Europe/Berlin")
    context.set_default_timeout(30_000)
    tab = Watched(context.new_page(), mill.url)
    times = [time.time() - number for number in range(1_500)]
    rows = [{"id": f"{n:08d}", "status": "ok", "caller": "local", "time": at, "ms": 1.0, "seq": n} for n, at in enumerate(times)]
    answer(tab.page, "**/executions?*", lambda _: {"executions": rows, "next": None})
    page = tab.open()
    expect(page.locator("#trend")).to_have_text("The last 1,500 executions")
    expect(page.locator("figcaption").first).to_contain_text("One bar is one minute.")
    expect(page.locator(".who")).to_contain_text("Europe/Berlin (GMT+")
    context.close()


def test_on_a_phone_the_menu_goes_away_with_the_page_that_was_asked_for_and_with_escape(tab: Watched) -> None:
    tab.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page = tab.open("tools")
    menu = page.get_by_role("button", name="Menu")
    menu.click()
    page.get_by_role("link", name="Tools", exact=True).first.click()
    expect(page.get_by_role("link", name="Audit")).to_be_hidden()
    menu.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Audit")).to_be_hidden()
    expect(menu).to_be_focused()


LONG = "n" * 120
ROWS = [
    {"id": f"{n:032d}", "status": "ok", "caller": LONG, "session": LONG, "time": 1e9, "ms": 4e6, "seq": n, "about": "x = " + LONG}
    for n in range(3)
]
RECORD = {
    "id": "x",
    "kind": "call",
    "time": 1e9,
    "tool": f"{LONG}.{LONG}",
    "caller": LONG,
    "status": "upstream.tool_failed",
    "ms": 4e6,
}


@pytest.mark.parametrize("width", [PHONE[0], 800, 1280])
def test_long_values_push_nothing_out_of_sight(tab: Watched, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 900})
    answer(tab.page, "**/executions?*", lambda _: {"executions": ROWS, "next": None})
    answer(tab.page, "**/audit?*", lambda _: {"records": [{**RECORD, "seq": 123_456_789, "error": LONG}], "next": None})
    page = tab.open("executions")
    expect(page.locator("tbody tr")).to_have_count(len(ROWS))
    assert page.locator(".table").evaluate("table => table.scrollWidth - table.clientWidth") == 0
    page = tab.open("audit")
    told = page.locator(".records .what").bounding_box()
    assert told is not None
    assert told["width"] > 150, "what it was about is what one reads"
    assert tab.too_wide() <= 0
    row = page.locator(".records li").bounding_box()
    assert row is not None
    assert row["height"] < 150


def test_however_short_and_late_a_call_was_its_bar_is_there(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        ran = client.get(f"/executions/{done(client, '1', 'ok')['id']}").json()
    calls = [{"id": str(n), "tool": "a.b", "status": "ok", "time": 1e9 + n, "ms": 1_000 * (1 - n) + 0.001} for n in range(2)]
    answer(tab.page, f"**/executions/{ran['id']}", lambda _: {**ran, "calls": calls})
    page = tab.open(f"executions/{ran['id']}")
    lane, bar = (page.locator(".timeline li").last.locator(part).bounding_box() for part in (".lane", ".bar"))
    assert lane is not None
    assert bar is not None
    assert bar["width"] >= 3
    assert bar["x"] + bar["width"] <= lane["x"] + lane["width"] + 0.5
