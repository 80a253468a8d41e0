"""Plans and what became of them, as approvers and askers see it."""

import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import orders
from tests.browser.doing import WRITE, answer, done, expect_focus, say_token
from tests.browser.watching import Watched
from tests.e2e.http.conftest import Service

HIDDEN = "pay" + "".join(chr(0xE0100 + letter) for letter in b"all") + "\u3164"
EVERY = 130


def plan(number: int, **fields: Any) -> dict[str, Any]:
    """A plan as the service tells it; the higher its number, the older."""
    now = time.time()
    call = {
        "number": 1,
        "tool": "shop.write_query",
        "arguments": {"query": f"number {number}"},
        "rule": "ask",
        "needs_approval": True,
    }
    return {
        "id": f"ap_{number}", "execution": f"{number:08d}", "session": None, "caller": "worker", "created": now - number,
        "expires": now + 3_600 - number, "standing": "pending", "plan": {"calls": [call], "stopped": None}, "approved": [],
        "decided_by": None, "decided": None, **fields,
    }  # fmt: skip


def test_of_many_plans_those_that_expire_first_come_first_and_the_others_can_be_seen(tab: Watched) -> None:
    plans = [plan(number) for number in range(EVERY)]
    answer(tab.page, "**/approvals?*", lambda url: plans[: int(url.rpartition("limit=")[2])])
    page = tab.open("approvals")
    expect(page.locator("article.plan").first).to_contain_text(f"number {EVERY - 1}")
    expect(page.get_by_text(f"{EVERY} plans")).to_be_visible()
    expect(page.locator("#nav .badge")).to_have_text("100+")
    while page.get_by_role("button", name="More").count():
        page.get_by_role("button", name="More").click()
    expect(page.locator("article.plan")).to_have_count(EVERY)
    expect(page.locator("article.plan").last).to_contain_text("number 0")


@pytest.mark.requirement("T33", "T48")
def test_an_approver_reads_what_hides_in_an_argument(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        asked = done(worker, WRITE.format(HIDDEN), "awaiting_approval")
        page = tab.open(f"approvals/{asked['plan']['id']}")
        expect(page.locator("article.plan")).to_contain_text("pay\\u{e0161}\\u{e016c}\\u{e016c}\\u{3164}")


def test_an_execution_says_where_its_plan_stands_and_who_took_it_up(tab: Watched, mill: Service) -> None:
    with mill.client() as local, mill.client("rita") as rita:
        asked = done(local, WRITE.format("standing"), "awaiting_approval")
        first = asked["id"]
        page = tab.open(f"executions/{first}")
        expect(page.get_by_text("1 call of it waits for a person")).to_be_visible()
        assert page.get_by_role("button", name="Resume").count() == 0, "it would withdraw the plan"
        assert page.locator(".timeline .bar.bad").count() == 0, "what waits has not failed"
        rita.post(f"/approvals/{asked['plan']['id']}", json={"approve": "all"}).raise_for_status()
        expect(page.get_by_text("rita approved 1 of 1 call")).to_be_visible()
        expect(page.locator(".facts .status")).to_have_text("approved")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("h1")).not_to_contain_text(first[:8])
        expect(page.locator(".facts .status")).to_have_text("ok")
        expect(page.locator(".facts").get_by_role("link", name=first[:8])).to_be_visible()
        second = page.url.rpartition("/")[2]
        page = tab.open(f"executions/{first}")
        expect(page.get_by_text("It was resumed as")).to_contain_text(second[:8])
        assert page.get_by_role("button", name="Resume").count() == 0, "what was approved is made once"
        row = tab.open("executions").get_by_role("row").filter(has=page.get_by_role("link", name=first[:8]))
        expect(row).to_contain_text("no longer waits")
    assert orders(mill).count("standing") == 1


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"standing": "denied", "decided_by": "rita"}, "denied"), ({"standing": "expired", "expires": 1.0}, "expired"), ({"standing": "expired"}, "withdrawn")],
)  # fmt: skip
def test_a_plan_that_is_over_does_not_say_that_it_waits(tab: Watched, mill: Service, fields: dict[str, Any], told: str) -> None:
    with mill.client() as local:
        asked = done(local, WRITE.format(told), "awaiting_approval")
    answer(tab.page, "**/approvals/*", lambda _: plan(1, execution=asked["id"], **fields))
    page = tab.open(f"executions/{asked['id']}")
    expect(page.locator(".facts .status")).to_have_text(told)
    assert page.get_by_text("for a person").count() == 0


def test_after_a_decision_the_reader_is_where_it_is_said(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        asked = done(worker, WRITE.format("not this"), "awaiting_approval")
    say_token(tab, mill.tokens["rita"])
    page = tab.open("approvals")
    shown = page.locator("article.plan").filter(has_text="not this")
    shown.get_by_role("button", name="Deny").press("Enter")
    expect(shown).to_have_count(0)
    expect_focus(page, f"Denied: all calls of {asked['id'][:8]}.")
    assert "not this" not in orders(mill)


@pytest.mark.requirement("T48")
def test_keys_alone_approve_some_calls_of_a_plan(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        both = WRITE.format("by keys") + "\nwrite_query(query=\"INSERT INTO orders (item) VALUES ('not by keys')\")"
        asked = done(worker, both, "awaiting_approval")
        say_token(tab, mill.tokens["rita"])
        page = tab.open(f"approvals/{asked['plan']['id']}")
        boxes = page.locator("article input[type=checkbox]")
        expect(boxes).to_have_count(2)
        tab_to(page, "document.activeElement === document.querySelectorAll('article input')[1]")
        page.keyboard.press("Space")
        expect(boxes.nth(1)).not_to_be_checked()
        tab_to(page, "document.activeElement.innerText === 'Approve chosen (1)'")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Approved: 1 of 2 calls")).to_be_focused()
        worker.post("/execute", json={"resume": asked["id"]}).raise_for_status()
    assert (orders(mill).count("by keys"), orders(mill).count("not by keys")) == (1, 0)


def tab_to(page: Page, condition: str) -> None:
    """Go on with the tabulator until that holds."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    pytest.fail(f"it was never so: {condition}")
