"""The list of executions, page by page, while others go on running."""

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.doing import answer, done
from tests.browser.watching import Watched
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
