"""Workspace files as resources: listed, read within a cap, and announced when they change."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Protocol, cast
from urllib.parse import quote, unquote, urlsplit

from mcp_types import AudioContent, BlobResourceContents, ContentBlock, ImageContent, Resource, TextResourceContents

from gristmill.errors import NotFound
from gristmill.model import Json
from gristmill.serve.harmless_text import harmless
from gristmill.values import dataclass

SCHEME = "workspace"
TEMPLATE = "workspace://{session}/{+path}"
PAGE = 200
READ_BYTES = 1_000_000
"""Largest file that is read as a resource: it goes into somebody's context or screen."""
MOST_BLOCKS = 8


class Entry(Protocol):
    """One thing in a workspace."""

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


class Listing(Protocol):
    """A page of entries."""

    @property
    def entries(self) -> Sequence[Entry]: ...


class Content(Protocol):
    """What was read."""

    @property
    def body(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def mime(self) -> str: ...


class Files(Protocol):
    """One workspace. Blocking: called in a thread."""

    def list(self, *, after: str = "", limit: int = 1_000) -> Listing: ...
    def read(self, path: str, *, offset: int = 0, length: int | None = None) -> Content: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file by session and path."""

    session: str
    path: str

    @property
    def uri(self) -> str:
        """Its address as a resource."""
        return f"{SCHEME}://{self.session}/{quote(self.path)}"


def place_of(uri: str) -> Place:
    """The file that ``uri`` names.

    Raises:
        NotFound: it names none of ours.
    """
    parts = urlsplit(uri)
    path = unquote(parts.path.lstrip("/"))
    if parts.scheme != SCHEME or not parts.netloc or not path:
        raise NotFound(f"resources here are called {TEMPLATE}")
    return Place(session=parts.netloc, path=path)


async def listed(files: Files, session: str, *, limit: int = PAGE) -> list[Resource]:
    """The files of a session as resources, at most ``limit``."""
    found = await asyncio.to_thread(files.list, limit=limit)
    return [_resource(session, entry) for entry in found.entries if entry.kind == "file"]


async def read(files: Files, place: Place) -> TextResourceContents | BlobResourceContents:
    """One file.

    Raises:
        NotFound: there is none, or it is larger than a resource may be.
    """
    content = await asyncio.to_thread(files.read, place.path, length=READ_BYTES)
    if content.size > READ_BYTES:
        raise NotFound(f"{place.path} has {content.size:,} bytes, more than the {READ_BYTES:,} of a resource: read it in code")
    try:
        text = content.body.decode()
    except UnicodeDecodeError:
        return BlobResourceContents(uri=place.uri, mime_type=content.mime, blob=base64.b64encode(content.body).decode())
    return TextResourceContents(uri=place.uri, mime_type=content.mime, text=text)


async def snapshot(files: Files) -> Mapping[str, tuple[int, float]]:
    """Size and time of every file, to see later what changed."""
    found = await asyncio.to_thread(files.list, limit=PAGE)
    return {entry.path: (entry.size, entry.changed) for entry in found.entries if entry.kind == "file"}


async def blocks(files: Files | None, result: Json) -> list[ContentBlock]:
    """Images and sounds that a result asks for: ``{"type": "image", "path": "chart.png"}``, or a list with such in it."""
    items = cast("list[Json]", result) if isinstance(result, list) else [result]
    wanted: list[tuple[str, str]] = []
    for item in items:
        fields = cast("dict[str, Json]", item) if isinstance(item, dict) else {}
        kind, path = fields.get("type"), fields.get("path")
        if kind in ("image", "audio") and isinstance(path, str):
            wanted.append((kind, path))
    return [await _block(files, kind, path) for kind, path in wanted[:MOST_BLOCKS]] if files else []


async def _block(files: Files, kind: str, path: str) -> ContentBlock:
    content = await asyncio.to_thread(files.read, path, length=READ_BYTES)
    if content.size > READ_BYTES or not content.mime.startswith(f"{kind}/"):
        raise NotFound(f"{path} is no {kind} of at most {READ_BYTES:,} bytes")
    encoded = base64.b64encode(content.body).decode()
    if kind == "image":
        return ImageContent(data=encoded, mime_type=content.mime)
    return AudioContent(data=encoded, mime_type=content.mime)


def _resource(session: str, entry: Entry) -> Resource:
    uri = Place(session=session, path=entry.path).uri
    return Resource(uri=uri, name=harmless(entry.path), mime_type=entry.mime, size=entry.size)
