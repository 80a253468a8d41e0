"""Bytes in a result that are no text. Apart from the reading of results, which needs the MCP SDK."""

from dataclasses import field

from gristmill.values import dataclass

CONTENT_KEY = "_content"
"""Where blobs and resources stand that came along with structured content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes that are no text. ``uri`` is set when they came as a resource."""

    data: bytes = field(repr=False)
    mime: str
    uri: str | None = None
