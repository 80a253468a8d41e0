"""Checks and masks the pictures and tables that a program showed: the sandbox made them, so nothing about them is trusted."""

import base64
import binascii
from collections.abc import Iterable

from gristmill.errors import Refused
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import ContentPart
from gristmill.runtime.execution.answer.content_masks import mask_content

_PNG = b"\x89PNG\r\n\x1a\n"


def present_content(
    parts: Iterable[ContentPart], redactor: Redactor | None, *, withholds: bool
) -> tuple[tuple[ContentPart, ...], tuple[str, ...]]:
    """Returns the parts that the caller may see, and a line of advice if some were left out."""
    kept: list[ContentPart] = []
    withheld: dict[str, None] = {}
    for part in parts:
        try:
            kept.append(_present_part(part, redactor, withholds=withholds))
        except Refused as refusal:
            withheld[f"a picture is withheld: {refusal.message}"] = None
        except (binascii.Error, ValueError):
            withheld["a picture is left out: it is not a PNG"] = None
    return tuple(kept), tuple(withheld)


def _present_part(part: ContentPart, redactor: Redactor | None, *, withholds: bool) -> ContentPart:
    """Returns a part as the caller may see it.

    Raises:
        Refused: it holds personal data in a format that cannot be masked.
        ValueError: it is not the picture that it says it is.
    """
    if part.type == "table":
        return (
            part if redactor is None else ContentPart(type="table", mime_type=part.mime_type, data=redactor.mask_text(part.data))
        )
    content = base64.b64decode(part.data, validate=True)
    if not content.startswith(_PNG):
        raise ValueError("not a PNG")
    if redactor is not None:
        content = mask_content(content, part.mime_type, redactor, withholds=withholds)
    return ContentPart(type="image", mime_type=part.mime_type, data=base64.b64encode(content).decode())
