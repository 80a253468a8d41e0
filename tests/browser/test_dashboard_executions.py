"""The list of executions, page by page, while others go on running."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.doing import WRITE, answer, done, go
from tests.browser.watching import PHONE, WIDE, Watched
from tests.e2e.http.conftest import Service

PAGE = 50


def row(number: int) -> dict[str, Any]:
    return {
        "id": f"{number:08d}",
        "status": "ok",
        "session": None,
        "caller": "local",
        "time": 1e9 + number,
        "ms": 1.0,
        "seq": number,
    }


def page_of(newest: int, url: str) -> dict[str, Any]:
    """As the service answers when so many have run."""
    after = int(url.rpartition("after=")[2]) if "after=" in url else newest + 1
    rows = [row(number) for number in range(after - 1, max(after - 1 - PAGE, 0), -1)]
    return {"executions": rows, "next": rows[-1]["seq"] if len(rows) == PAGE else None}


def test_a_first_page_without_rows_still_leads_to_older_ones(tab: Watched) -> None:
    empty: dict[str, Any] = {"executions": [], "next": PAGE + 1}
    answer(tab.page, "**/executions?*", lambda url: page_of(PAGE, url) if "after=" in url else empty)
    page = tab.open("executions")
    assert page.get_by_text("Nothing has run yet").count() == 0
    page.get_by_role("button", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(PAGE)


def test_older_rows_stay_when_newer_ones_come_in(tab: Watched) -> None:
    newest = [120]
    answer(tab.page, "**/executions?*", lambda url: page_of(newest[0], url))
    page = tab.open("executions")
    page.get_by_role("button", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(2 * PAGE)
    newest[0] += 30
    expect(page.locator("tbody tr").first).to_contain_text(f"{newest[0]:08d}")
    expect(page.locator("tbody tr")).to_have_count(2 * PAGE + 30)
    ids = [one.split()[0] for one in page.locator("tbody tr").all_inner_texts()]
    assert ids == [f"{number:08d}" for number in range(150, 20, -1)]


def test_older_ones_that_cannot_be_had_are_said_and_asked_for_again(tab: Watched) -> None:
    works = [False]
    answer(tab.page, "**/executions?*", lambda url: page_of(120, url) if works[0] or "after=" not in url else 503)
    page = tab.open("executions")
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_role("alert")).to_contain_text("Not now.")
    works[0] = True
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("tbody tr")).to_have_count(2 * PAGE)
    assert page.get_by_role("alert").count() == 0


def test_a_filter_is_in_the_address_and_there_again_after_going_back(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        failed = done(client, "1 / 0", "failed", session="filtered")["id"]
        done(client, "1", "ok", session="filtered")
    page = tab.open("executions")
    page.get_by_label("Status").select_option("failed")
    page.get_by_label("Session").fill("filtered")
    page.get_by_label("Session").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"#/executions\?status=failed&session=filtered$"))
    page.reload()
    tab.settled()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name=failed[:8]).click()
    expect(page.locator("h1")).to_contain_text(failed[:8])
    expect(page).to_have_title(f"Execution {failed[:8]} · Gristmill")
    page.go_back()
    expect(page.get_by_label("Status")).to_have_value("failed")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_refused_program_claims_no_savings(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        refused = done(client, "import os\nos.fork(", "failed")
    outcome = {**refused, "status": "refused", "tokens_saved": 67_067}
    answer(tab.page, f"**/executions/{refused['id']}", lambda _: {**outcome, "caller": "local", "outcome": outcome, "calls": []})
    page = tab.open(f"executions/{refused['id']}")
    expect(page.locator(".facts .status")).to_have_text("refused")
    assert page.get_by_text("67,067").count() == 0


BROKEN = """from servers.time import get_current_time
now = get_current_time(timezone="UTC")
budget = {"budget": 5}
budget["budgett"]"""


@pytest.mark.parametrize(("name", "size"), [("desktop", WIDE), ("phone", PHONE)])
def test_an_error_is_found_fixed_and_run_again_without_repeating_calls(
    tab: Watched, mill: Service, name: str, size: tuple[int, int]
) -> None:
    with mill.client() as client:
        broken = done(client, f"# {name}\n{BROKEN}", "failed")["id"]
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    page = tab.open("executions?word=budgett&status=failed")
    row = page.locator("tbody tr").filter(has=page.get_by_role("link", name=broken[:8]))
    expect(row).to_contain_text("KeyError: 'budgett'")
    page.get_by_role("link", name=broken[:8]).click()
    expect(page.locator("main h2").first).to_have_text("Error")
    expect(page.locator(".code .marked")).to_contain_text('budget["budgett"]')
    expect(page.locator(".box.bad")).not_to_contain_text("x0a")
    expect(page.locator(".facts")).to_contain_text("time.get_current_time")
    assert tab.too_wide() <= 0
    for scheme in ("light", "dark"):
        tab.show(f"error-{name}-{scheme}", size, scheme)
        assert tab.grave() == []
    page.get_by_role("button", name="Edit and run again").click()
    expect(page.locator("h1")).to_have_text("Playground")
    page.get_by_label("Code").fill(f"# {name}\n{BROKEN}".replace("budgett", "budget"))
    page.get_by_label(re.compile("Reuse its answers")).check()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#watched")).to_contain_text("ok")
    expect(page.locator(".facts")).to_contain_text("1 answer of which was used again")
    assert not tab.complaints


def test_executions_are_found_by_a_part_of_a_word(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        found = done(client, "print('marmalade 100% \"quoted\"')", "ok")["id"]
        done(client, "print('something else')", "ok")
    page = tab.open("executions")
    for word in ("MARMA", "100%", '"quoted"'):
        page.get_by_label("Contains").fill(word)
        page.get_by_label("Contains").press("Enter")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text(found[:8])
    page.get_by_label("Contains").fill("_armalade")
    page.get_by_label("Contains").press("Enter")
    expect(page.locator(".empty")).to_contain_text("No execution matches.")


def test_a_program_and_its_link_are_copied(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        ran = done(client, "print('copied')", "ok")["id"]
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.open(f"executions/{ran}")
    for name, text in (
        ("code", "print('copied')"),
        ("id", ran),
        ("link", f"#/executions/{ran}"),
        ("curl", f"{mill.url}/execute"),
    ):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert text in page.evaluate("navigator.clipboard.readText()")
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()


def test_a_write_that_only_waits_does_not_look_done_while_it_is_planned(tab: Watched, mill: Service) -> None:
    with mill.client() as client:
        client.post("/sessions", json={"name": "planning"}).raise_for_status()
        code = WRITE.format("planned") + "\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
        id_ = client.post("/execute", json={"code": code, "session": "planning", "background": True}).json()["id"]
        page = tab.open(f"executions/{id_}")
        expect(page.locator(".timeline")).to_contain_text("planned")
        go(client, "planning")
        expect(page.locator(".facts .status")).to_have_text("awaiting approval")
