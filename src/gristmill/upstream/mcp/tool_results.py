"""Converts a server's answer to one plain value for the code. Knows the wire types; the hall (runtime/) does not.

Structured content is the value. Without it, one block is the value and several are a list. Text that is a JSON object
or array becomes data; images, audio and binary resources become a ``Blob``, which the hall saves in the workspace.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import cast

import msgspec
from msgspec import UNSET

from gristmill.errors import ToolFailed
from gristmill.model import Json
from gristmill.upstream.json_limits import JsonLimits, JsonRefused, check_json
from gristmill.upstream.mcp.blob import CONTENT_KEY, Blob
from gristmill.upstream.mcp.tool_answer import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContents,
    ResourceLinkBlock,
    TextContentBlock,
    ToolAnswer,
)

_LONGEST_ERROR = 2_000


def convert_result(answer: ToolAnswer, limits: JsonLimits) -> Json:
    """Returns the value that the code gets.

    Raises:
        ToolFailed: the tool reports a failure (``isError``), or sent bytes that are not base64.
    """
    if answer.is_error:
        raise ToolFailed(_read_error_text(answer))
    texts = TextConverter(limits)
    if answer.structured_content is not UNSET and answer.structured_content is not None:
        return _add_extra_blocks(answer.structured_content, answer.content, texts)
    values = [_convert_block(block, texts) for block in answer.content]
    if not values:
        return None
    return values[0] if len(values) == 1 else values


class TextConverter:
    """Converts the texts of one answer to data. What exceeds the limits, counted over all texts, stays text."""

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits

    def convert(self, text: str) -> Json:
        """Returns data if the text is a JSON object or array within the limits, otherwise the text.

        A lone number stays text: an identifier such as ``12e5`` must not silently become a float. ``NaN`` and ``Infinity``,
        which are not JSON but which Python servers write, become ``None``, as everywhere between the server and the code.
        """
        if text.lstrip()[:1] not in ("{", "["):
            return text
        try:
            encoded = text.encode()
            size = check_json(encoded, self._limits)
            found = parse_json(encoded)
        except (JsonRefused, ValueError, RecursionError):
            return text
        self._limits = msgspec.structs.replace(self._limits, values=self._limits.values - size.values)
        return found


def parse_json(text: bytes) -> Json:
    """Parses JSON; ``NaN`` and ``Infinity`` become None.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if b"NaN" not in text and b"Infinity" not in text:
            raise
        return json.loads(text, parse_constant=lambda _: None)


def _add_extra_blocks(structured: Json, content: Iterable[ContentBlock], texts: TextConverter) -> Json:
    # Servers repeat structured content as text for older clients; only blocks that are not text add something.
    extras = [_convert_block(block, texts) for block in content if not isinstance(block, TextContentBlock)]
    if not extras:
        return structured
    known = cast("dict[str, Json]", structured) if isinstance(structured, dict) else {"result": structured}
    return {**known, CONTENT_KEY: extras}


def _convert_block(block: ContentBlock, texts: TextConverter) -> Json:
    match block:
        case TextContentBlock():
            return texts.convert(block.text)
        case ImageBlock() | AudioBlock():
            return Blob(data=_decode_base64(block.data), mime=block.mime_type)
        case ResourceLinkBlock():
            link = {"uri": block.uri, "name": block.name, "mime_type": block.mime_type}
            return link | ({"description": block.description} if block.description else {})
        case ResourceBlock():
            return _convert_resource(block.resource)


def _convert_resource(resource: ResourceContents) -> Json:
    if resource.blob is not None:
        mime = resource.mime_type or "application/octet-stream"
        return Blob(data=_decode_base64(resource.blob), mime=mime, uri=resource.uri)
    return {"uri": resource.uri, "mime_type": resource.mime_type, "text": resource.text}


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ToolFailed("the tool sent an image, sound or file that is not base64") from None


def _read_error_text(answer: ToolAnswer) -> str:
    texts = [block.text[:_LONGEST_ERROR] for block in answer.content if isinstance(block, TextContentBlock)]
    text = "\n".join(texts[:_LONGEST_ERROR]).strip()
    if not text and answer.structured_content is not UNSET and answer.structured_content is not None:
        text = msgspec.json.encode(answer.structured_content).decode()
    return text[:_LONGEST_ERROR] or "the tool failed and did not say why"
