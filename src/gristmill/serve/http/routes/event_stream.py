"""The answer of a route that streams server-sent events, and its description for the OpenAPI document."""

from typing import Annotated, Any

from fastapi.responses import StreamingResponse

from gristmill.serve.http.request_handling import PROBLEM_RESPONSE
from gristmill.serve.http.shapes.documented_as import EventsDocumentedAs


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


def describe_stream(shape: Any) -> dict[int | str, dict[str, Any]]:
    """Returns the ``responses`` of a route that streams events, the data of each with this ``shape``."""
    events: dict[str, Any] = {"model": Annotated[str, EventsDocumentedAs(shape)], "description": "Server-sent events."}
    # Without its own entry the problem would be described as a stream, too.
    return {200: events, "default": PROBLEM_RESPONSE}
