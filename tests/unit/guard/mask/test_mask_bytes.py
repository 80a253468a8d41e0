"""Texts within bytes are masked in their own encoding; what cannot be searched is told apart."""

import json

import pytest

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.mask_bytes import mask_bytes, mask_kept_bytes
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault

pytestmark = pytest.mark.requirement("T92", "T93")
MAIL = "ann@example.com"


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(MaskVault(key=b"thirty-two random bytes, kept safe"), Detector())


@pytest.mark.parametrize(
    ("mime", "encoding"),
    [
        ("text/plain", "utf-8"),
        ("text/plain", "utf-8-sig"),
        ("text/csv; charset=utf-8", "utf-16"),
        ("text/plain; charset=UTF-16LE", "utf-16-le"),
        ("text/html; charset='windows-1252'", "cp1252"),
        ("text/plain; charset=utf-16", "utf-8"),
        ("application/octet-stream", "utf-8"),
        ("", "utf-8"),
        ("image/svg+xml", "utf-8"),
        ("application/vnd.api+json", "utf-8"),
    ],
)
def test_text_is_masked_in_its_own_encoding(mime: str, encoding: str, redactor: Redactor) -> None:
    masked = mask_bytes(f"Zoë: {MAIL}".encode(encoding), mime, redactor)
    assert masked is not None
    assert masked.decode(encoding) == f"Zoë: {redactor.mask(MAIL)}"


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (MAIL.encode(), "image/png"),
        (MAIL.encode(), "application/pdf"),
        (MAIL.encode(), "application/zip"),
        (MAIL.encode(), "message/rfc822"),
        (MAIL.encode(), "text/rtf"),
        (b"\x89PNG\r\n\x1a\n" + MAIL.encode(), "text/plain"),
        (b"\n%PDF-1.4 " + MAIL.encode(), "text/plain"),
        (b"{\\rtf1 ann\\'40example.com}", "text/plain"),
        (MAIL.encode("utf-16-le"), "text/plain"),
        (MAIL.encode("utf-16-be") + b"\xff", "text/plain; charset=utf-7"),
        ("ann\u00e9".encode("latin-1"), "text/plain; charset=rot13"),
    ],
)
def test_what_cannot_be_searched_is_told_apart(data: bytes, mime: str, redactor: Redactor) -> None:
    assert mask_bytes(data, mime, redactor) is None


def test_the_names_of_fields_and_columns_count(redactor: Redactor) -> None:
    document = mask_bytes(b'{"phone": 5552234567, "note": "x"}', "application/json", redactor)
    table = mask_bytes(b"name;phone\r\nann;5552234567\r\nbob;5552234568;more\r\n", "text/csv", redactor)
    assert document is not None
    assert table is not None
    assert json.loads(document)["phone"].startswith("<PHONE_NUMBER_")
    header, ann, bob, end = table.decode().split("\r\n")
    assert (header, ann[:11], bob[:11], bob[-5:], end) == ("name;phone", "ann;<PHONE_", "bob;<PHONE_", ";more", "")


def test_a_key_that_stands_twice_hides_nothing(redactor: Redactor) -> None:
    masked = mask_bytes(f'{{"a": "{MAIL}", "a": 1}}'.encode(), "application/json", redactor)
    assert masked is not None
    assert MAIL.encode() not in masked


@pytest.mark.parametrize(
    "data", [b"", b"[1, 2]", b"a,a\n1,2\n", b'a,"b\n', b"[" * 5_000, b"a,b\n1,2\n", "größe\n".encode(), b"one\r\ntwo\n"]
)
def test_bytes_without_findings_stay_as_they_are(data: bytes, redactor: Redactor) -> None:
    assert mask_bytes(data, "text/csv", redactor) == data
    assert mask_bytes(data, "application/json", redactor) == data


@pytest.mark.parametrize("name", ["image/png", "application/zip", "text/csv", ""])
def test_a_text_that_code_wrote_is_masked_whatever_its_name_says(name: str, redactor: Redactor) -> None:
    for encoding in ("utf-8", "latin-1", "utf-16"):
        masked = mask_kept_bytes(f"Zoë {MAIL}\n".encode(encoding), name, redactor)
        assert masked == f"Zoë {redactor.mask(MAIL)}\n".encode(encoding)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0tEXtAuthor\0Ann <ann@example.com>\0",
        b"SQLite format 3\0\1\2ann@example.com\0",
        b"\0\1" + "mail: ann@example.com".encode("utf-16-le") + b"\0\1\xff",
        b"%PDF-1.4 (mail to ann@example.com) Tj",
    ],
)
def test_findings_in_a_format_that_masks_would_break_are_told_apart(data: bytes, redactor: Redactor) -> None:
    assert mask_kept_bytes(data, "application/octet-stream", redactor) is None


def test_other_formats_pass_without_findings_unless_it_is_strict(redactor: Redactor) -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0IHDR\0" + bytes(range(256)) * 40
    assert mask_kept_bytes(data, "image/png", redactor) == data
    assert mask_kept_bytes(data, "image/png", redactor, strict=True) is None
