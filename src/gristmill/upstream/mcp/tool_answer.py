"""The result of a tool call on the wire, as values. Only the fields that are used are read; others are ignored."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from gristmill.errors import UpstreamError
from gristmill.model import Json


class TextContentBlock(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="text"):
    """Text."""

    text: str


class ImageBlock(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="image"):
    """An image, in base64."""

    data: str
    mime_type: str


class AudioBlock(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="audio"):
    """A sound, in base64."""

    data: str
    mime_type: str


class ResourceLinkBlock(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="resource_link"):
    """A resource by its address."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None


class ResourceContents(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of a resource: either ``text``, or ``blob`` in base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class ResourceBlock(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="resource"):
    """A resource with its content."""

    resource: ResourceContents


ContentBlock = TextContentBlock | ImageBlock | AudioBlock | ResourceLinkBlock | ResourceBlock


class ToolAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a tool call. ``structured_content`` is unset if the server did not send it."""

    content: list[ContentBlock] = field(default_factory=list[ContentBlock])
    structured_content: Json | UnsetType = UNSET
    is_error: bool | None = None


def read_answer(fields: Mapping[str, Json]) -> ToolAnswer:
    """Returns the result that ``fields`` hold.

    Raises:
        UpstreamError: it is not a result of MCP.
    """
    try:
        answer = msgspec.convert(fields, ToolAnswer)
    except msgspec.ValidationError as error:
        raise UpstreamError(f"the answer is not MCP: {error}") from None
    for block in answer.content:
        if isinstance(block, ResourceBlock) and block.resource.text is None and block.resource.blob is None:
            raise UpstreamError("the answer is not MCP: a resource has neither text nor blob")
    return answer
