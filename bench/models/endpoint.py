"""Speaks to an OpenAI-compatible endpoint: one chat completion with tools, and what the endpoint counted for it."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2 as httpx

SEED, TEMPERATURE = 7, 0
FENCED = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
TAGGED = re.compile(r"<(tool_call|tools|function_call)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)

Message = dict[str, Any]


class EndpointFailed(Exception):
    """The endpoint gave no completion; ``kind`` is ``context`` when the request was too long for the model."""

    def __init__(self, message: str, kind: str = "endpoint") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One tool call that a model wrote. ``is_text`` tells that it stood in the text and not in the protocol's own field."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    is_text: bool = False
    broken: str = ""
    """Arguments that are no JSON object, as they were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model wrote, and the tokens that the endpoint counted."""

    text: str
    calls: tuple[Wanted, ...] = ()
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    message: Message = field(default_factory=dict[str, Any])


class Endpoint:
    """One model behind a URL. ``takes_code`` of ``complete`` reads a fenced program as a call of ``execute_code``."""

    def __init__(self, url: str, *, model: str, key: str | None, seconds: float, most_tokens: int) -> None:
        self.url, self.model, self._most_tokens = url.rstrip("/"), model, most_tokens
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(seconds, connect=30.0))

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Message], *, in_text: bool = False, takes_code: bool = False
    ) -> Reply:
        """Asks for the next message of a conversation. With ``in_text`` the messages themselves define the tools.

        Raises:
            EndpointFailed: there was no answer, or an error.
        """
        asked: dict[str, Any] = {
            "model": self.model, "messages": list(messages), "temperature": TEMPERATURE, "seed": SEED,
            "max_tokens": self._most_tokens,
        }  # fmt: skip
        if tools and not in_text:
            asked["tools"] = list(tools)
        began = time.monotonic()
        answer = await self._post(asked)
        seconds = time.monotonic() - began
        message: Message = answer["choices"][0]["message"]
        usage = cast("dict[str, Any]", answer.get("usage") or {})
        text = message.get("content") or ""
        calls = tuple(_read_call(each) for each in message.get("tool_calls") or ())
        if not calls:
            calls = read_text_calls(text, [tool["function"]["name"] for tool in tools], takes_code=takes_code)
        kept = {"role": "assistant", "content": text}
        if message.get("tool_calls"):
            kept["tool_calls"] = message["tool_calls"]
        cached = cast("dict[str, Any]", usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return Reply(
            text=text, calls=calls, tokens_in=usage.get("prompt_tokens", 0), tokens_cached=cached,
            tokens_out=usage.get("completion_tokens", 0), seconds=seconds, message=kept,
        )  # fmt: skip

    async def _post(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._client.post(f"{self.url}/chat/completions", json=dict(asked))
        except httpx.HTTPError as error:
            raise EndpointFailed(f"{type(error).__name__}: {error}") from None
        if answer.status_code != 200:
            said = answer.text[:500]
            kind = "context" if "context" in said.lower() and answer.status_code == 400 else "endpoint"
            raise EndpointFailed(f"status {answer.status_code}: {said}", kind)
        return answer.json()

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


def read_text_calls(text: str, known: Sequence[str], *, takes_code: bool) -> tuple[Wanted, ...]:
    """Reads calls that a model wrote into its text: JSON with a name and arguments, or, in the code arm, a fenced program.

    Small models do this often, and clients accept it; all arms are treated alike.
    """
    found: list[Wanted] = []
    pieces = [body for _, body in TAGGED.findall(text)] + [body for _, body in FENCED.findall(text)] or [text]
    for piece in pieces:
        for value in _decode_objects(piece):
            name = str(value.get("name"))
            arguments = value.get("arguments", value.get("parameters"))
            if name in known and isinstance(arguments, dict):
                arguments = cast("dict[str, Any]", arguments)
                found.append(Wanted(id=f"text-{len(found)}", name=name, arguments=arguments, is_text=True))
    if not found and takes_code:
        programs = [body for language, body in FENCED.findall(text) if language.lower() in ("python", "py", "")]
        if programs and not any(map(_is_json, programs)):
            found.append(Wanted(id="text-0", name="execute_code", arguments={"code": "\n".join(programs)}, is_text=True))
    return tuple(found)


def _read_call(call: Mapping[str, Any]) -> Wanted:
    name, written = call["function"]["name"], call["function"].get("arguments") or "{}"
    try:
        arguments = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return Wanted(id=call.get("id") or "call", name=name, arguments={}, broken=str(written))
    return Wanted(id=call.get("id") or "call", name=name, arguments=cast("dict[str, Any]", arguments))


def _decode_objects(text: str) -> list[dict[str, Any]]:
    """Returns the JSON objects of a text, one after another, and those of a list."""
    decoder, found, at = json.JSONDecoder(strict=False), list[dict[str, Any]](), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        found.append(cast("dict[str, Any]", value))
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
