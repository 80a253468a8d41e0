"""Binary content in a result. Separate from the reading of results (tool_results.py), which needs the MCP SDK."""

from dataclasses import dataclass, field

CONTENT_KEY = "_content"
"""The key under which blobs and resources are added to structured content that they came with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes that are not text. ``uri`` is set when they came as a resource."""

    data: bytes = field(repr=False)
    mime: str
    uri: str | None = None
