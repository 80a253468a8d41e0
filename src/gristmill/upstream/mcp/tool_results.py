"""What a server answered becomes one plain value for the code. Knows the wire types; the hall above does not.

Structured content is the value. Without it, one block is the value and several are a list. Text that is a JSON object
or array becomes data; images, audio and binary resources become a ``Blob``, which the hall puts into the workspace.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import cast

import msgspec
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from gristmill.errors import ToolFailed
from gristmill.model import Json
from gristmill.upstream.mcp.blob import CONTENT_KEY, Blob

_LONGEST_ERROR = 2_000


def to_value(result: CallToolResult) -> Json:
    """The value the code gets.

    Raises:
        ToolFailed: the tool says so (``isError``), or sent bytes that are not base64.
    """
    if result.is_error:
        raise ToolFailed(_error_text(result))
    if "structured_content" in result.model_fields_set and result.structured_content is not None:
        return _with_extras(result.structured_content, result.content)
    values = [_block(block) for block in result.content]
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def text_to_value(text: str) -> Json:
    """Data if the text is a JSON object or array, else the text.

    A lone number stays text: an identifier such as ``12e5`` must not turn into a float behind the code's back. ``NaN`` and
    ``Infinity``, which are no JSON but which Python servers write, become ``None``, as everywhere between the server and code.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _lenient(text)


def _lenient(text: str) -> Json:
    if "NaN" not in text and "Infinity" not in text:
        return text
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return text


def _with_extras(structured: Json, content: Iterable[ContentBlock]) -> Json:
    # Servers repeat structured content as text for older clients; only what is not text adds something.
    extras = [_block(block) for block in content if not isinstance(block, TextContent)]
    if not extras:
        return structured
    known = cast("dict[str, Json]", structured) if isinstance(structured, dict) else {"result": structured}
    return {**known, CONTENT_KEY: extras}


def _block(block: ContentBlock) -> Json:
    match block:
        case TextContent():
            return text_to_value(block.text)
        case ImageContent() | AudioContent():
            return Blob(data=_decode(block.data), mime=block.mime_type)
        case ResourceLink():
            link = {"uri": str(block.uri), "name": block.name, "mime_type": block.mime_type}
            return link | ({"description": block.description} if block.description else {})
        case EmbeddedResource():
            return _resource(block.resource)


def _resource(resource: TextResourceContents | BlobResourceContents) -> Json:
    if isinstance(resource, BlobResourceContents):
        mime = resource.mime_type or "application/octet-stream"
        return Blob(data=_decode(resource.blob), mime=mime, uri=str(resource.uri))
    return {"uri": str(resource.uri), "mime_type": resource.mime_type, "text": resource.text}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ToolFailed("the tool sent an image, sound or file that is not base64") from None


def _error_text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    text = "\n".join(texts).strip()
    if not text and result.structured_content is not None:
        text = msgspec.json.encode(result.structured_content).decode()
    return text[:_LONGEST_ERROR] or "the tool failed and did not say why"
