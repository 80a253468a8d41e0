"""The files of a session: seen where one looks, gone only when that was said."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.doing import expect_focus
from tests.browser.watching import PHONE, Watched
from tests.e2e.http.conftest import Service

LONG = "n" * 200 + ".txt"


@pytest.fixture
def files(tab: Watched, mill: Service) -> Generator[Page]:
    """The page of a session with some files."""
    with mill.client() as client:
        client.post("/sessions", json={"name": "desk"}).raise_for_status()
        for path in ("note.txt", "deep/er/x.json", LONG):
            client.put(f"/sessions/desk/files/{path}", content=b"what is in it\n").raise_for_status()
        yield tab.open("sessions/desk")
        client.delete("/sessions/desk")


def held(mill: Service) -> list[str]:
    with mill.client() as client:
        return [file["path"] for file in client.get("/sessions/desk/files").json()["files"]]


def test_a_file_is_shown_over_the_page_and_put_away_with_escape(files: Page, tab: Watched) -> None:
    button = files.get_by_role("button", name="View note.txt")
    button.press("Enter")
    dialog = files.get_by_role("dialog", name="note.txt")
    expect(dialog).to_contain_text("what is in it")
    expect(files.locator("dialog:focus, dialog :focus")).to_have_count(1)
    assert tab.grave() == []
    files.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_two_enters_delete_nothing_and_escape_is_no(files: Page, mill: Service) -> None:
    delete = files.get_by_role("row").filter(has_text="note.txt").get_by_role("button", name="Delete")
    delete.press("Enter")
    files.keyboard.press("Enter")
    expect(delete).to_be_focused()
    delete.press("Enter")
    files.keyboard.press("Escape")
    expect(delete).to_be_focused()
    assert "note.txt" in held(mill)


def test_what_was_deleted_is_said_where_the_focus_is(files: Page, mill: Service) -> None:
    files.get_by_role("button", name="Delete: note.txt", exact=True).click()
    files.get_by_role("button", name="Delete it: note.txt").click()
    expect(files.get_by_role("button", name="View note.txt")).to_have_count(0)
    expect_focus(files, "note.txt is deleted.")
    files.get_by_role("button", name="Delete: deep", exact=True).click()
    files.get_by_role("button", name="Delete it with everything in it: deep", exact=True).click()
    expect(files.get_by_text("deep is deleted.")).to_be_visible()
    assert held(mill) == [LONG]


def test_a_file_that_is_there_is_replaced_only_when_that_was_said(files: Page, mill: Service, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("another one")
    files.get_by_label("Upload").set_input_files(tmp_path / "note.txt")
    asked = files.get_by_role("alertdialog")
    expect(asked).to_contain_text("note.txt")
    expect(asked.get_by_role("button", name="Keep")).to_be_focused()
    asked.get_by_role("button", name="Keep").click()
    with mill.client() as client:
        assert client.get("/sessions/desk/files/note.txt").text == "what is in it\n"
        files.get_by_label("Upload").set_input_files(tmp_path / "note.txt")
        asked.get_by_role("button", name="Replace").click()
        expect(files.get_by_text("Uploaded: note.txt.")).to_be_visible()
        assert client.get("/sessions/desk/files/note.txt").text == "another one"


def test_one_long_name_does_not_spoil_the_table(files: Page, tab: Watched) -> None:
    rows = files.locator("tbody tr").filter(has_text="note.txt")
    tops = {box["y"] for button in rows.get_by_role("button").all() if (box := button.bounding_box())}
    assert len(tops) == 1, "the buttons stand in one line"
    files.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert tab.too_wide() <= 0


def test_a_skill_of_one_session_is_on_its_page(tab: Watched, mill: Service) -> None:
    save = "from skills import save\ndef only_here(n: int) -> int:\n    'Here.'\n    return n\nsave(only_here, level='session')"
    with mill.client() as client:
        assert client.post("/execute", json={"code": save, "session": "skilled"}).json()["status"] == "ok"
    page = tab.open("sessions/skilled")
    page.get_by_role("link", name="only_here").click()
    expect(page.get_by_label("Source")).to_contain_text("def only_here")
    expect(page.get_by_text("one session")).to_be_visible()
    assert tab.complaints == []
