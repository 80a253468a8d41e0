"""The chat page: what a model writes is seen as it comes, calls wait for the person, and conversations are kept."""

import re
from collections.abc import Generator
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from gristmill.config.sections.serve_section import Scope
from gristmill.config.tree import load_config
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer, answer_by_question
from tests.browser.conftest import SERVE, orders, settings
from tests.browser.doing import WRITE, say_token
from tests.browser.watching import PHONE, WIDE, Watched
from tests.e2e.http.conftest import Service, make_tokens, start

EVIL = "<img src=x onerror=alert(1)> **bold** `code` \u202e"
TABLES = "from servers.shop import list_tables\nprint('tables', list_tables())"
SLOW = "import time\nprint('begun', flush=True)\ntime.sleep(600)"
TOKENS: dict[str, tuple[str, str, tuple[Scope, ...]]] = {
    "ann": ("ann", "local", ("execute", "read", "approve")),
    "bob": ("bob", "local", ("execute",)),
}
gate = Event()


def run(code: str) -> ModelAnswer:
    return ModelAnswer("", [ModelCall("execute_code", {"code": code})], input_tokens=900, output_tokens=40, cached_tokens=300)


SCRIPT = answer_by_question(
    {
        "tables": [run(TABLES), ModelAnswer("There is **one** table:\n\n- `orders`\n\n```python\nprint(1)\n```")],
        "paused": [ModelAnswer("first second", pause=lambda: gate.wait(60), pause_at=2)],
        "buy tea": [run(WRITE.format("tea")), ModelAnswer("The tea is ordered.")],
        "slow": [run(SLOW), ModelAnswer("It is over.")],
        "evil": [ModelAnswer(EVIL)],
        "broken": [ModelFailure(401, "no such key")],
    }
)


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    with ModelServer(SCRIPT) as served:
        yield served


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Generator[Service]:
    folder = tmp_path_factory.mktemp("mill")
    folder.chmod(0o755)
    text = f'{settings(folder)}\n[chat]\nmodel = "openai:scripted"\nbase_url = "{model.openai_url}"\n'
    (folder / "gristmill.toml").write_text(text)
    tokens = make_tokens(load_config(folder / "gristmill.toml", store={"path": str(folder)}), TOKENS)
    with start(folder, text, tokens, SERVE) as running:
        yield running


def ask(page: Page, message: str) -> None:
    page.get_by_label("Message").fill(message)
    page.get_by_label("Message").press("Enter")


def expect_end(page: Page) -> None:
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_an_answer_is_seen_and_kept_with_its_program_and_its_cost(tab: Watched) -> None:
    page = tab.open("chat")
    ask(page, "which tables are there?")
    turn = page.locator("article.turn")
    expect(turn).to_contain_text("There is one table:")
    expect(turn.get_by_label("Program 1")).to_contain_text("from servers.shop import list_tables")
    expect(turn.locator("ul.nested")).to_contain_text("shop.list_tables")
    expect(turn.get_by_label("Output")).to_contain_text("tables")
    expect(turn).to_contain_text(re.compile(r"tokens in \(300 cached\), .* · 2 requests"))
    expect_end(page)
    assert turn.locator("strong", has_text="one").count() == 1
    assert turn.get_by_label("Code in the answer").inner_text() == "print(1)"
    assert "#/chat/" in page.url
    page.reload()
    expect(page.locator(".asked")).to_have_text("which tables are there?")
    expect(page.get_by_label("Program")).to_contain_text("list_tables")
    expect(page.locator(".answer")).to_contain_text("There is one table:")
    for name, size in (("chat-wide", WIDE), ("chat-phone", PHONE)):
        tab.show(name, size, "light")
        assert (tab.too_wide(), tab.grave()) == (0, [])
    page = tab.open("chat")
    row = page.get_by_role("row").filter(has_text="which tables are there?")
    expect(row).to_contain_text("idle")
    row.get_by_role("link").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it with its files").click()
    expect(page.locator("h1")).to_have_text("Chat")
    expect(page.get_by_role("row").filter(has_text="which tables are there?")).to_have_count(0)
    assert (tab.complaints, tab.foreign, tab.dialogs) == ([], [], [])


def test_text_is_shown_while_the_model_still_writes(tab: Watched) -> None:
    gate.clear()
    page = tab.open("chat")
    ask(page, "paused")
    expect(page.locator(".answer")).to_have_text("first")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    gate.set()
    expect(page.locator(".answer")).to_have_text("first second")
    expect_end(page)


def test_calls_that_wait_are_decided_by_a_person_who_may(tab: Watched, mill: Service) -> None:
    say_token(tab, mill.tokens["bob"])
    page = tab.open("chat")
    ask(page, "please buy tea")
    question = page.locator("section.plan")
    expect(question).to_contain_text("shop.write_query")
    expect(question).to_contain_text("not decide")
    assert question.get_by_role("button", name="Approve").count() == 0
    say_token(tab, mill.tokens["ann"])
    page = tab.open("chat")
    ask(page, "please buy tea")
    expect(question).to_contain_text("INSERT INTO orders")
    assert tab.grave() == []
    assert orders(mill) == []
    page.reload()
    question.get_by_role("button", name="Approve").click()
    expect(page.locator("article.turn")).to_contain_text("The tea is ordered.")
    expect_end(page)
    assert orders(mill) == ["tea"]


def test_a_turn_can_be_stopped_and_taken_up_again(tab: Watched) -> None:
    page = tab.open("chat")
    ask(page, "slow")
    expect(page.get_by_label("Output")).to_contain_text("begun")
    page.get_by_role("button", name="Stop").click()
    expect_end(page)
    expect(page.locator("article.turn")).to_contain_text(re.compile("stopped", re.IGNORECASE))
    page.get_by_role("button", name="Go on with it").click()
    expect(page.locator("article.turn").last).to_contain_text("It is over.")
    expect_end(page)
    page.get_by_role("button", name="Forget last turn").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator(".asked")).to_have_count(0)


def test_another_page_follows_a_turn_that_runs(tab: Watched, mill: Service) -> None:
    page = tab.open("chat")
    ask(page, "slow")
    expect(page.get_by_label("Output")).to_contain_text("begun")
    other = Watched(page.context.new_page(), mill.url)
    seen = other.open(page.url.partition("#/")[2])
    expect(seen.get_by_label("Output")).to_contain_text("begun")
    seen.get_by_role("button", name="Stop").click()
    expect_end(page)


def test_nothing_that_a_model_writes_becomes_a_page(tab: Watched) -> None:
    page = tab.open("chat")
    ask(page, "evil")
    expect(page.locator(".answer")).to_contain_text(r"<img src=x onerror=alert(1)> bold code \u{202e}")
    expect_end(page)
    assert (page.locator("main img").count(), tab.dialogs, tab.complaints, tab.foreign) == (0, [], [], [])


def test_an_error_of_the_provider_is_shown(tab: Watched) -> None:
    page = tab.open("chat")
    ask(page, "broken")
    expect(page.locator(".failure")).to_contain_text("key")
    expect_end(page)
    assert tab.complaints == []
