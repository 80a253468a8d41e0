"""The protocols that the scripted model server speaks, behind one face."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from gristmill.testing import anthropic_wire, openai_wire
from gristmill.testing.model_answers import ModelAnswer, ModelFailure, ModelRequest, Wire


class WriteHeaders(Protocol):
    """Writes the headers of an answer; ``is_limited`` if the client asked too often."""

    def __call__(self, number: int, *, is_limited: bool) -> dict[str, str]: ...


class WireFormat(Struct, frozen=True, kw_only=True):
    """How one provider's requests are read and its answers written."""

    read_request: Callable[[Mapping[str, Any], str], ModelRequest]
    write_answer: Callable[[ModelRequest, ModelAnswer, int], dict[str, Any]]
    stream_answer: Callable[[ModelRequest, ModelAnswer, int], Generator[str]]
    write_failure: Callable[[ModelFailure, int], dict[str, Any]]
    stream_failure: Callable[[ModelFailure, int], str]
    write_headers: WriteHeaders
    find_problem: Callable[[ModelRequest], str | None]
    describe_overflow: Callable[[int, int], ModelFailure]


WIRES: Mapping[Wire, WireFormat] = {
    "openai": WireFormat(
        read_request=openai_wire.read_openai_request,
        write_answer=openai_wire.write_openai_answer,
        stream_answer=openai_wire.stream_openai_answer,
        write_failure=openai_wire.write_openai_failure,
        stream_failure=openai_wire.stream_openai_failure,
        write_headers=openai_wire.write_openai_headers,
        find_problem=openai_wire.find_openai_problem,
        describe_overflow=openai_wire.describe_openai_overflow,
    ),
    "anthropic": WireFormat(
        read_request=anthropic_wire.read_anthropic_request,
        write_answer=anthropic_wire.write_anthropic_answer,
        stream_answer=anthropic_wire.stream_anthropic_answer,
        write_failure=anthropic_wire.write_anthropic_failure,
        stream_failure=anthropic_wire.stream_anthropic_failure,
        write_headers=anthropic_wire.write_anthropic_headers,
        find_problem=anthropic_wire.find_anthropic_problem,
        describe_overflow=anthropic_wire.describe_anthropic_overflow,
    ),
}
