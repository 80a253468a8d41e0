"""Masks the text within bytes: files that tools send. Bytes that cannot be searched are told apart, so they can be withheld."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator

from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Json

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks and their encodings; the longer of two that begin alike comes first."""

_CHARSETS = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|utf-?32(-?[lb]e)?|us-ascii|iso-?8859-\d+|latin-?1|windows-125\d|cp125\d", re.ASCII
)
"""Declared encodings that are believed: each reads its bytes in one way only, letter by letter."""

_TEXT_TYPES = re.compile(
    r"text/(?!rtf$).*|application/(.*\+)?(json|xml|yaml|x-yaml|toml|sql|javascript|ecmascript|x-ndjson|jsonl|csv|graphql)"
    r"|application/octet-stream|application/x-www-form-urlencoded|application/x-sh|image/svg\+xml|model/gltf\+json|binary/octet-stream|"
)
"""Types whose bytes are searched if they are text. Others may hold text that is packed, encoded or drawn."""

_PACKED = (b"%PDF-", b"%!PS", b"{\\rtf", b"begin-base64", b"-----BEGIN PGP MESSAGE")
"""How formats begin that are made of plain letters, but write their text in another way."""

_TABLE_TYPES = ("text/csv", "text/tab-separated-values", "application/csv")
_DELIMITERS = (",", ";", "\t", "|")

_READABLE = re.compile(rb"[\x20-\x7e]{12,}")
_READABLE_WIDE = re.compile(rb"(?:[\x20-\x7e]\x00){12,}")
"""Readable parts within other formats. Shorter ones are found in packed data by chance."""

_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffe\uffff\ud800-\udfff]")
"""Characters that texts do not have: bytes with them are another format, or another encoding than it seems."""


def mask_bytes(data: bytes, mime: str, redactor: Redactor) -> bytes | None:
    """Returns ``data`` with all findings masked, in its own encoding; None where it cannot be searched."""
    kind, _, parameters = mime.strip().lower().partition(";")
    if not _TEXT_TYPES.fullmatch(kind.strip()) or data.lstrip()[:64].startswith(_PACKED) or b"%PDF-" in data[:1_024]:
        return None
    mark, encoding = _find_encoding(data, parameters)
    try:
        text = data[len(mark) :].decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    if _NOT_TEXT.search(text):
        return None
    masked = _mask_document(text, redactor, is_table=kind.strip() in _TABLE_TYPES)
    return data if masked == text else mark + masked.encode(encoding, "backslashreplace")


def mask_kept_bytes(data: bytes, mime: str, redactor: Redactor, *, strict: bool = False) -> bytes | None:
    """Returns a file that code has written as others may see it; None where findings are in a format that masks would break.

    Its name says little about its content, so texts of every type are masked. Formats that are not text pass if no readable
    part of them holds a finding, as what is packed or drawn in them is not seen; if ``strict``, they never pass.
    """
    masked = mask_bytes(data, mime, redactor)
    masked = mask_bytes(data, "", redactor) if masked is None else masked
    if masked is not None:
        return masked
    text = data.decode("latin-1")
    if not _NOT_TEXT.search(text) and not data.lstrip().startswith(_PACKED):
        # A text in an older encoding: what is found is of plain letters, and all other bytes stay as they are.
        return redactor.mask_text(text).encode("latin-1", "backslashreplace")
    if strict:
        return None
    readable = "\n".join(_find_readable_parts(data))
    return data if redactor.mask_text(readable) == readable else None


def _find_readable_parts(data: bytes) -> Iterator[str]:
    """Yields what is readable within another format, in letters of one byte or of two."""
    for part in _READABLE.findall(data):
        yield part.decode("ascii")
    for part in _READABLE_WIDE.findall(data):
        yield part.replace(b"\0", b"").decode("ascii")


def _find_encoding(data: bytes, parameters: str) -> tuple[bytes, str]:
    """Returns the byte order mark of ``data`` and its encoding: by the mark, else as declared, else UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    declared = re.search(r"charset\s*=\s*[\"']?([\w.-]+)", parameters)
    try:
        # What reads as UTF-8 is searched as UTF-8, whatever is declared: programs that open it will read it so.
        data.decode()
        is_plain = b"\0" not in data
    except UnicodeDecodeError:
        is_plain = False
    return b"", "utf-8" if is_plain or not declared or not _CHARSETS.fullmatch(declared[1]) else declared[1]


def _mask_document(text: str, redactor: Redactor, *, is_table: bool) -> str:
    """Masks JSON and tables by their fields, because the names say what they hold; then every text as a text."""
    if is_table:
        text = _mask_table(text, redactor)
    elif text.lstrip()[:1] in ("{", "["):
        try:
            value: Json = json.loads(text)
            masked = redactor.mask(value)
            text = text if masked is value or masked == value else json.dumps(masked, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    # Also after the fields: JSON may hold a key twice, of which only the last is read.
    return redactor.mask_text(text)


def _mask_table(text: str, redactor: Redactor) -> str:
    """Masks the cells of a table whose first line names its columns; a text that is no such table stays as it is."""
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    try:
        names, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error:
        return text
    if not rows or len(set(names)) < len(names):
        return text
    fields: Json = [dict(zip(names, row, strict=False)) for row in rows]
    masked = redactor.mask(fields)
    if masked is fields or masked == fields:
        return text
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\r\n" if "\r\n" in text else "\n")
    writer.writerow(names)
    # A name that was masked itself stays in its place: cells are written in the order of their columns.
    writer.writerows([*cells.values(), *row[len(names) :]] for cells, row in zip(masked, rows, strict=True))
    return written.getvalue()
