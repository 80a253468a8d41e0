"""The dashboard as people use it: in a real browser, over the running service and real servers."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import orders
from tests.browser.doing import WAITS, WRITE, done, say_token, waiting
from tests.browser.watching import PHONE, WIDE, Watched
from tests.e2e.http.conftest import Service
from tests.servers.markup import HOSTILE, IMAGE

SKILL = "from skills import save\ndef double(n: int) -> int:\n    'Twice.'\n    return n * {}\nsave(double, level='user')"
RUDE = "from servers import rude\nprint({!r})\nrude.say()"
BUDGET = 300_000


@pytest.fixture(scope="module")
def places(mill: Service) -> dict[str, str]:
    """A service with something on every page; where each page is."""
    with mill.client() as local, mill.client("worker") as worker:
        ran = done(local, RUDE.format(HOSTILE), "ok")["id"]
        done(local, "1 / 0", "failed")
        for factor in ("2", "1 + n"):
            done(local, SKILL.format(factor), "ok", session="shown")
        local.put(f"/sessions/shown/files/{quote(IMAGE)}.txt", content=HOSTILE.encode()).raise_for_status()
        plan = done(worker, WRITE.format(IMAGE), "awaiting_approval")["plan"]["id"]
        named = next(tool["name"] for tool in local.get("/tools/rude").json() if tool["name"] != "say")
    return {
        "now": "", "executions": "executions", "execution": f"executions/{ran}", "approvals": "approvals", "plan": f"approvals/{plan}",
        "playground": "playground", "tools": "tools", "server": "tools/rude", "tool": f"tools/rude/{quote(named, safe='')}", "sessions": "sessions",
        "session": "sessions/shown", "skills": "skills", "skill": "skills/double", "audit": "audit", "token": "token",
    }  # fmt: skip


PAGES = (
    "now", "executions", "execution", "approvals", "plan", "playground", "tools", "server", "tool", "sessions", "session", "skills",
    "skill", "audit", "token",
)  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_complaints_fits_a_phone_and_keeps_nobody_out(
    tab: Watched, places: dict[str, str], name: str
) -> None:
    tab.open(places[name])
    tab.show(f"{name}-wide-light", WIDE, "light")
    grave = {"light": tab.grave()}
    tab.show(f"{name}-phone-dark", PHONE, "dark")
    grave["dark"], too_wide = tab.grave("color-contrast"), tab.too_wide()
    assert (tab.complaints, tab.foreign, tab.dialogs) == ([], [], [])
    assert grave == {"light": [], "dark": []}
    assert too_wide <= 0


@pytest.mark.requirement("T33", "T34")
@pytest.mark.parametrize("name", ["execution", "plan", "server", "tool", "session", "audit"])
def test_hostile_text_is_shown_as_text(tab: Watched, places: dict[str, str], name: str) -> None:
    page = tab.open(places[name])
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.locator("main").get_by_text("onerror=alert(1)").count() > 0, "nothing hostile was on the page"
    assert page.locator("main img, main script, main svg, main [onload], main [onerror]").count() == 0
    assert (tab.dialogs, tab.complaints) == ([], [])


@pytest.mark.requirement("T33", "T34")
def test_the_same_text_as_markup_would_be_noticed(tab: Watched) -> None:
    with tab.page.expect_event("dialog"):
        tab.page.set_content(HOSTILE)
    assert tab.dialogs[0] in {"1", "2", "3"}


def test_what_a_page_must_not_have_would_be_noticed(tab: Watched) -> None:
    page = tab.open("token")
    assert (tab.grave(), tab.too_wide()) == ([], 0)
    page.evaluate("""() => {
      const image = document.createElement('img')
      image.src = 'http://evil.example/x.png'
      const wide = document.createElement('div')
      wide.textContent = 'wide'
      Object.assign(wide.style, {minWidth: '5000px', color: '#888', background: '#999'})
      document.querySelector('main').append(image, wide)
    }""")
    found = {finding.partition(":")[0] for finding in tab.grave()}
    assert found == {"image-alt", "color-contrast"}
    assert tab.too_wide() > 1_000
    assert "Content Security Policy" in tab.complaints[0]


@pytest.mark.requirement("T34")
def test_hostile_tools_are_found_and_shown_as_text(tab: Watched, places: dict[str, str]) -> None:
    page = tab.open("tools")
    page.get_by_label("What should a tool do?").fill("say onerror alert")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("ol.hits").get_by_text("onerror=alert(1)").first).to_be_visible()
    assert (page.locator("main img").count(), tab.dialogs, tab.complaints) == (0, [], [])


def test_a_run_is_seen_while_it_runs_and_after_it(tab: Watched, mill: Service, places: dict[str, str]) -> None:
    page = tab.open()
    with mill.client() as client:
        id_ = waiting(client, "live")
        card = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=id_[:8]))
        expect(card).to_contain_text("begun")
        page.goto(f"{mill.url}/dashboard/#/executions")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=id_[:8]))
        expect(row).to_contain_text("running")
        row.get_by_role("link").first.click()
        expect(page.get_by_label("Output")).to_contain_text("begun")
        client.put("/sessions/live/files/go", content=b"").raise_for_status()
    expect(page.get_by_label("Output")).to_contain_text("ended")
    expect(page.get_by_text("42", exact=True)).to_be_visible()
    page.goto(f"{mill.url}/dashboard/#/executions")
    expect(row).to_contain_text("ok")
    assert tab.complaints == []


def test_the_playground_shows_output_as_it_comes(tab: Watched, mill: Service) -> None:
    page = tab.open("playground")
    with mill.client() as client:
        client.post("/sessions", json={"name": "play"}).raise_for_status()
        page.get_by_label("Code", exact=True).fill(WAITS)
        page.get_by_label("Session").fill("play")
        page.get_by_role("button", name="Run", exact=True).click()
        output = page.get_by_label("Output")
        expect(output).to_have_text(re.compile(r"begun\s*"))
        expect(page.locator("#watched")).to_contain_text("running")
        client.put("/sessions/play/files/go", content=b"").raise_for_status()
    expect(output).to_contain_text("ended")
    expect(page.locator("#watched")).to_contain_text("ok")
    expect(page.locator("main")).to_contain_text("42")
    assert tab.complaints == []


@pytest.mark.requirement("T48")
def test_a_plan_is_shown_and_approved_in_the_inbox_by_somebody_who_may(
    tab: Watched, mill: Service, places: dict[str, str]
) -> None:
    item = "from the inbox"
    with mill.client("worker") as worker:
        asked = done(worker, WRITE.format(item), "awaiting_approval")
        page = tab.open(f"approvals/{asked['plan']['id']}")
        expect(page.locator("article.plan")).to_contain_text(item)
        assert page.get_by_role("button", name="Approve").count() == 0, "this machine may only look"
        say_token(tab, mill.tokens["boss"])
        page = tab.open("approvals")
        plan = page.locator("article.plan").filter(has_text=item)
        expect(plan).to_contain_text("shop.write_query")
        expect(plan).to_contain_text("Needs approval: the policy asks about shop.write_query.")
        assert item not in orders(mill)
        plan.get_by_role("button", name="Approve").click()
        expect(plan).to_have_count(0)
        assert worker.post("/execute", json={"resume": asked["id"]}).json()["status"] == "ok"
    assert orders(mill).count(item) == 1
    assert tab.complaints == []


def test_the_first_load_is_small(tab: Watched, places: dict[str, str]) -> None:
    tab.open()
    assert 10_000 < tab.transferred < BUDGET


def test_the_keyboard_reaches_every_page(tab: Watched, places: dict[str, str]) -> None:
    page, reached = tab.open(), list[str]()
    for _ in range(15):
        page.keyboard.press("Tab")
        reached += page.evaluate("document.activeElement.innerText").split()[:1]
    titles = [link.inner_text().split()[0] for link in page.locator("#nav li a").all()]  # a count may follow, sooner or later
    assert len(titles) == 9
    assert [title for title in titles if title not in reached] == []
    page.locator("#nav").get_by_role("link", name="Audit").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Audit")


def test_on_a_phone_the_keyboard_opens_the_menu(tab: Watched, places: dict[str, str]) -> None:
    tab.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page = tab.open()
    menu = page.get_by_role("button", name="Menu")
    expect(page.get_by_role("link", name="Audit")).to_be_hidden()
    menu.focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("h1")).to_have_text("Audit")


def test_dark_is_dark_and_light_is_light(tab: Watched, places: dict[str, str]) -> None:
    page, seen = tab.open(), dict[str, int]()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        color: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        seen[scheme] = sum(int(float(part)) for part in re.findall(r"[\d.]+", color)[:3])
    assert seen["light"] > 600
    assert seen["dark"] < 200


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_anything_is_found_from_everywhere_by_the_keyboard(
    tab: Watched, mill: Service, places: dict[str, str], size: tuple[int, int]
) -> None:
    with mill.client() as client:
        ran = done(client, "print('haystack needle')", "ok")["id"]
    page = tab.open("audit")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search everywhere")
    expect(field).to_be_focused()
    field.fill("haystack need")
    option = page.get_by_role("option").filter(has_text=ran[:8])
    expect(option).to_be_visible()
    assert tab.grave() == []
    while option.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/executions/{ran}$"))
    page.keyboard.press("Control+k")
    field.fill("write_query")
    expect(page.get_by_role("option").filter(has_text="shop.write_query").first).to_be_visible()
    field.fill("appro")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Approvals")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    assert not tab.complaints
