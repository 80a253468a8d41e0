"""Marks sealed records with the number of their format, so that a record of another version is never misread.

Gristmill 0.1.0 wrote no mark: its records are JSON, or the text of a program, and neither begins with a zero byte.
"""

from gristmill.errors import StoreUnavailable

UNMARKED_FORMAT = 1
"""The format of all records of 0.1.0."""
_MARK = b"\0"


def mark_format(number: int, content: bytes) -> bytes:
    """Returns ``content`` as a record of the format ``number``."""
    return _MARK + bytes((number,)) + content


def split_format(record: bytes, *, newest: int, what: str) -> tuple[int, bytes]:
    """Returns the format of a record, and its content; ``what`` names the record in the error.

    Raises:
        StoreUnavailable: a newer version of Gristmill wrote it.
    """
    if not record.startswith(_MARK):
        return UNMARKED_FORMAT, record
    number = record[1] if len(record) > 1 else 0
    if not UNMARKED_FORMAT < number <= newest:
        raise StoreUnavailable(
            f"{what} has the format {number}, and this version of Gristmill reads formats up to {newest}: use the version that "
            "wrote it"
        )
    return number, record[2:]
