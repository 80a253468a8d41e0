"""Plans and what became of them, as approvers and askers see it."""

import os
import re
import subprocess
import sys
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import orders
from tests.browser.doing import WRITE, answer, done, expect_focus, say_token
from tests.browser.watching import PHONE, WIDE, Watched
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
    expect(page).to_have_title("(100+) Approvals · Gristmill")
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
    shown.get_by_role("button", name="Deny all").press("Enter")
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
        boxes = page.locator("article td input[type=checkbox]")
        expect(boxes).to_have_count(2)
        expect(page.get_by_role("button", name="Approve all 2")).to_be_visible()
        tab_to(page, "document.activeElement === document.querySelectorAll('article td input')[1]")
        page.keyboard.press("Space")
        expect(boxes.nth(1)).not_to_be_checked()
        expect(page.locator(".consequences")).to_contain_text("Call 2 will be refused")
        expect(page.locator(".consequences")).to_contain_text("By then call 1 will already have happened.")
        tab_to(page, "document.activeElement.innerText === 'Approve 1 of 2'")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Approved: 1 of 2 calls")).to_be_focused()
        worker.post("/execute", json={"resume": asked["id"]}).raise_for_status()
    assert (orders(mill).count("by keys"), orders(mill).count("not by keys")) == (1, 0)


MANY = """
from servers.shop import write_query
first = write_query(query="INSERT INTO orders (item) VALUES ('part 0')")
for number in range(1, 8):
    write_query(query=f"INSERT INTO orders (item) VALUES ('part {number}')")
"""


@pytest.mark.parametrize(("name", "size"), [("desktop", WIDE), ("phone", PHONE)])
def test_a_part_of_a_plan_is_approved_by_the_one_button_that_follows_the_boxes(
    tab: Watched, mill: Service, name: str, size: tuple[int, int]
) -> None:
    code = MANY.replace("part", f"{name} part")
    with mill.client("worker") as worker:
        asked = done(worker, code, "awaiting_approval")
        say_token(tab, mill.tokens["rita"])
        tab.page.set_viewport_size({"width": size[0], "height": size[1]})
        page = tab.open(f"approvals/{asked['plan']['id'][:10]}")
        article = page.locator("article.plan")
        expect(article.locator("tbody tr")).to_have_count(8)
        expect(article).to_contain_text("Needs approval: the policy asks about shop.write_query.")
        expect(article.locator(".described")).to_contain_text("Execute")
        expect(page.locator(".program")).to_contain_text("The program that asks")
        page.get_by_label("Call 4: shop.write_query").uncheck()
        expect(page.locator(".consequences")).to_contain_text("Call 4 will be refused")
        expect(page.locator(".consequences")).to_contain_text("By then calls 1 to 3 will already have happened.")
        expect(page.locator(".consequences")).to_contain_text("Calls 5 to 8 happen only if the program goes on")
        button = page.get_by_role("button", name="Approve 7 of 8")
        expect(button).to_be_in_viewport()
        assert page.get_by_role("button", name=re.compile("^Approve")).count() == 1, "one button, that follows the boxes"
        assert tab.too_wide() <= 0
        for scheme in ("light", "dark"):
            tab.show(f"plan-{name}-{scheme}", size, scheme)
            assert tab.grave() == []
        button.click()
        expect(page.get_by_text("Approved: 7 of 8 calls")).to_be_focused()
        again = worker.post("/execute", json={"resume": asked["id"][:12]}).json()
        assert again["status"] == "failed"
    assert [item for item in orders(mill) if item.startswith(name)] == [f"{name} part {number}" for number in range(3)]
    assert not tab.complaints


def test_a_model_that_resumes_too_early_leaves_the_plan_that_is_being_read(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        asked = done(worker, WRITE.format("too early"), "awaiting_approval")
        say_token(tab, mill.tokens["rita"])
        page = tab.open(f"approvals/{asked['plan']['id']}")
        early = worker.post("/execute", json={"resume": asked["id"]}).json()
        assert early["plan"]["id"] == asked["plan"]["id"]
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Approved: 1 of 1 call")).to_be_focused()
        assert worker.post("/execute", json={"resume": early["id"]}).json()["status"] == "ok"
    assert orders(mill).count("too early") == 1


def test_the_user_of_this_machine_signs_in_from_the_command_line_and_approves(tab: Watched, mill: Service) -> None:
    config = mill.config.state_dir / "gristmill.toml"
    store = {**os.environ, "GRISTMILL_STORE__PATH": str(mill.config.state_dir)}
    command = [sys.executable, "-m", "gristmill", "dashboard", "--print", "--url", mill.url, "--config", str(config)]
    printed = subprocess.run(command, capture_output=True, text=True, env=store, timeout=60, check=True).stdout.strip()
    with mill.client() as local:
        asked = done(local, WRITE.format("by hand"), "awaiting_approval")
        page = tab.open(f"approvals/{asked['plan']['id']}")
        expect(page.locator(".callout").first).to_contain_text("gristmill dashboard")
        page.goto(printed)
        expect(page.locator("h1")).to_have_text("Sign in")
        expect(page).to_have_url(re.compile("#/sign-in$"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_have_text("Now")
        page = tab.open(f"approvals/{asked['plan']['id']}")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Approved: 1 of 1 call")).to_be_focused()
        assert local.post("/execute", json={"resume": asked["id"]}).json()["status"] == "ok"
    assert orders(mill).count("by hand") == 1


def test_a_tool_is_always_allowed_by_a_rule_that_is_shown_first_and_can_be_revoked(tab: Watched, mill: Service) -> None:
    with mill.client("worker") as worker:
        asked = done(worker, WRITE.format("rule 1"), "awaiting_approval", session="ruled")
        say_token(tab, mill.tokens["rita"])
        page = tab.open(f"approvals/{asked['plan']['id']}")
        page.get_by_text("Later calls of these tools").click()
        page.get_by_label("From now on").select_option("session")
        rule = "always allow shop.write_query for worker in the session ruled, as long as its definition stays the same"
        expect(page.locator(".always")).to_contain_text(rule)
        assert tab.grave() == []
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Approved: 1 of 1 call")).to_be_focused()
        worker.post("/execute", json={"resume": asked["id"]}).raise_for_status()
        done(worker, WRITE.format("rule 2"), "ok", session="ruled")
        done(worker, WRITE.format("not here"), "awaiting_approval", session="unruled")
        page = tab.open("approvals")
        row = page.get_by_role("row").filter(has_text=rule)
        expect(row).to_contain_text("rita")
        row.get_by_role("button", name="Revoke").click()
        row.get_by_role("button", name="Revoke it").click()
        expect(row).to_have_count(0)
        done(worker, WRITE.format("rule 3"), "awaiting_approval", session="ruled")
        with mill.client("boss") as boss:
            audit = boss.get("/audit", params={"kind": "approval"}).json()["records"]
            assert {"rule made", "rule revoked"} <= {record["status"] for record in audit}
            calls = boss.get("/audit", params={"kind": "call", "session": "ruled", "status": "ok"}).json()["records"]
            assert "always allowed by rita" in calls[0]["rule"]
    assert [item for item in orders(mill) if item.startswith("rule")] == ["rule 1", "rule 2"]


def test_values_that_are_long_or_not_known_yet_are_said_to_be_so(tab: Watched) -> None:
    calls = [
        {
            "number": n,
            "tool": "shop.write_query",
            "arguments": arguments,
            "rule": 'policy.default "annotations"',
            "needs_approval": True,
        }
        for n, arguments in enumerate([{"query": "x" * 5_000, "kind": "a"}, {"query": {"$planned": [1, "id"]}, "kind": "a"}], 1)
    ]
    answer(tab.page, "**/approvals/ap_1", lambda _: plan(1, plan={"calls": calls, "stopped": None}))
    page = tab.open("approvals/ap_1")
    expect(page.locator(".placeholder")).to_have_text("id of call 1")
    expect(page.locator("article")).to_contain_text("show all 5,000 characters")
    expect(page.locator("article")).to_contain_text("1 call has long values that are folded")
    expect(page.locator("article")).to_contain_text("this tool is not marked read-only")
    expect(page.locator(".plan-tool .facts")).to_contain_text("kind")
    expect(page.locator("thead")).not_to_contain_text("kind")


def tab_to(page: Page, condition: str) -> None:
    """Go on with the tabulator until that holds."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    pytest.fail(f"it was never so: {condition}")
