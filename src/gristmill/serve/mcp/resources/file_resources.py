"""Lists and reads workspace files as resources, within a size limit."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, cast
from urllib.parse import quote, unquote, urlsplit

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    ImageContent,
    Resource,
    TextContent,
    TextResourceContents,
)
from msgspec import Struct

from gristmill.errors import NotFound, Refused
from gristmill.harmless_text import neutralize_text
from gristmill.loose_json import as_mapping
from gristmill.model import Json

SCHEME = "workspace"
TEMPLATE = "workspace://{session}/{+path}"
PAGE = 200
READ_BYTES = 1_000_000
"""Largest file that is read as a resource: its content goes into a model's context or onto a screen."""
MOST_BLOCKS = 8


MaskFile = Callable[[bytes, str], Awaitable[bytes]]
"""Masks the content of a file of a certain type, as for a model."""


class ResourceEntry(Protocol):
    """One file or folder in a workspace."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def changed(self) -> float: ...
    @property
    def mime(self) -> str: ...


class ResourceListing(Protocol):
    """One page of entries."""

    @property
    def entries(self) -> Sequence[ResourceEntry]: ...


class ResourceContent(Protocol):
    """The content that was read of a file."""

    @property
    def body(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def mime(self) -> str: ...


class ResourceFiles(Protocol):
    """The files of one workspace. Its methods block: call them in a thread."""

    def list(self, *, after: str = "", limit: int = 1_000) -> ResourceListing: ...
    def read(self, path: str, *, offset: int = 0, length: int | None = None) -> ResourceContent: ...


class ResourcePlace(Struct, frozen=True, kw_only=True):
    """The place of one file: its session and path."""

    session: str
    path: str

    @property
    def uri(self) -> str:
        """The URI of the file as a resource."""
        return f"{SCHEME}://{self.session}/{quote(self.path)}"


def parse_uri(uri: str) -> ResourcePlace:
    """Returns the place of the file that ``uri`` names.

    Raises:
        NotFound: the URI is not one of a workspace file.
    """
    parts = urlsplit(uri)
    path = unquote(parts.path.lstrip("/"))
    if parts.scheme != SCHEME or not parts.netloc or not path:
        raise NotFound(f"resources here have URIs of the form {TEMPLATE}")
    return ResourcePlace(session=parts.netloc, path=path)


async def list_resources(files: ResourceFiles, session: str, *, limit: int = PAGE) -> list[Resource]:
    """Returns the files of a session as resources, at most ``limit``."""
    found = await asyncio.to_thread(files.list, limit=limit)
    return [_build_resource(session, entry) for entry in found.entries if entry.kind == "file"]


async def read_resource(
    files: ResourceFiles, place: ResourcePlace, mask: MaskFile
) -> TextResourceContents | BlobResourceContents:
    """Returns the content of one file, masked.

    Raises:
        NotFound: there is no such file, or it is larger than a resource may be.
        Refused: it holds personal data in a format that cannot be masked.
    """
    content = await asyncio.to_thread(files.read, place.path, length=READ_BYTES)
    if content.size > READ_BYTES:
        raise NotFound(f"{place.path} has {content.size:,} bytes, more than the {READ_BYTES:,} of a resource: read it in code")
    body = await mask(content.body, content.mime)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return BlobResourceContents(uri=place.uri, mime_type=content.mime, blob=base64.b64encode(body).decode())
    return TextResourceContents(uri=place.uri, mime_type=content.mime, text=text)


async def take_snapshot(files: ResourceFiles) -> Mapping[str, tuple[int, float]]:
    """Returns the size and the time of every file, to find changes later."""
    found = await asyncio.to_thread(files.list, limit=PAGE)
    return {entry.path: (entry.size, entry.changed) for entry in found.entries if entry.kind == "file"}


async def load_media_blocks(files: ResourceFiles | None, result: Json, mask: MaskFile) -> list[ContentBlock]:
    """Returns the images and sounds that a result asks for: ``{"type": "image", "path": "chart.png"}``, or a list of these."""
    items = cast("list[Json]", result) if isinstance(result, list) else [result]
    wanted: list[tuple[str, str]] = []
    for item in items:
        fields = as_mapping(item)
        kind, path = fields.get("type"), fields.get("path")
        if kind in ("image", "audio") and isinstance(path, str):
            wanted.append((kind, path))
    return [await _load_block(files, kind, path, mask) for kind, path in wanted[:MOST_BLOCKS]] if files else []


async def _load_block(files: ResourceFiles, kind: str, path: str, mask: MaskFile) -> ContentBlock:
    content = await asyncio.to_thread(files.read, path, length=READ_BYTES)
    if content.size > READ_BYTES or not content.mime.startswith(f"{kind}/"):
        raise NotFound(f"{path} is not a file of the type {kind} with at most {READ_BYTES:,} bytes")
    try:
        encoded = base64.b64encode(await mask(content.body, content.mime)).decode()
    except Refused as error:  # the rest of the answer is not lost with it
        return TextContent(text=neutralize_text(f"{path} is withheld: {error.message}"))
    if kind == "image":
        return ImageContent(data=encoded, mime_type=content.mime)
    return AudioContent(data=encoded, mime_type=content.mime)


def _build_resource(session: str, entry: ResourceEntry) -> Resource:
    uri = ResourcePlace(session=session, path=entry.path).uri
    return Resource(uri=uri, name=neutralize_text(entry.path), mime_type=entry.mime, size=entry.size)
