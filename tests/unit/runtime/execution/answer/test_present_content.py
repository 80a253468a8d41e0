"""Pictures and tables from the sandbox are checked and masked before a caller gets them."""

import base64

import pytest

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import ContentPart
from gristmill.runtime.execution.answer.present_content import present_content

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def image(content: bytes) -> ContentPart:
    return ContentPart(type="image", mime_type="image/png", data=base64.b64encode(content).decode())


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(MaskVault(key=b"thirty-two random bytes, kept safe"), Detector())


def test_a_picture_without_personal_data_passes(redactor: Redactor) -> None:
    for masks in (redactor, None):
        assert present_content([image(PNG)], masks, withholds=False) == ((image(PNG),), ())


def test_a_picture_with_personal_data_in_its_readable_parts_is_withheld(redactor: Redactor) -> None:
    kept, lines = present_content([image(PNG + b"Author: ann@example.org"), image(PNG)], redactor, withholds=False)
    assert kept == (image(PNG),)
    assert lines[0].startswith("a picture is withheld: ")


def test_no_picture_passes_where_files_of_tools_may_enter_unsearched(redactor: Redactor) -> None:
    kept, lines = present_content([image(PNG)], redactor, withholds=True)
    assert (kept, len(lines)) == ((), 1)


@pytest.mark.parametrize("data", ["****", base64.b64encode(b"<svg/>").decode(), "é"])
def test_what_is_no_picture_is_left_out(redactor: Redactor, data: str) -> None:
    part = ContentPart(type="image", mime_type="image/png", data=data)
    assert present_content([part], redactor, withholds=False) == ((), ("a picture is left out: it is not a PNG",))


def test_the_html_of_a_table_is_masked(redactor: Redactor) -> None:
    part = ContentPart(type="table", mime_type="text/html", data="<table><td>ann@example.org</td></table>")
    kept, lines = present_content([part], redactor, withholds=True)
    assert (kept[0].data.startswith("<table><td><EMAIL_"), "ann@" in kept[0].data, lines) == (True, False, ())
    assert present_content([part], None, withholds=False) == ((part,), ())
