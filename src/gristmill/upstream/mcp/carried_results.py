"""Carries the result of a tool call past the SDK's models.

The SDK builds a model of each content block, twice, on the event loop: 11 microseconds and a kilobyte per block. It gets an
empty result instead, whose ``_meta`` carries the real one; tool_results.py reads that.
"""

from collections.abc import Mapping

from mcp_types import CallToolResult, JSONRPCResponse

from gristmill.model import Json
from gristmill.upstream.mcp.wire_messages import LargeResponse

_KEY = "gristmill/result"
_RESULT_FIELDS = frozenset({"content", "structuredContent", "isError"})


class CarriedResult(str):
    """The result of a call as the server sent it.

    It is a text because the SDK writes results as JSON to check them; the object itself passes through its models unchanged.
    """

    __slots__ = ("fields", "is_large")
    fields: Mapping[str, Json]
    is_large: bool

    @classmethod
    def make(cls, fields: Mapping[str, Json], *, is_large: bool = False) -> "CarriedResult":
        """Returns a text that carries ``fields``."""
        made = cls("carried")
        made.fields, made.is_large = fields, is_large
        return made


def carry_result(answer: JSONRPCResponse) -> JSONRPCResponse:
    """Returns an empty result that carries the result of a tool call; any other answer is returned unchanged."""
    fields = answer.result
    if _RESULT_FIELDS.isdisjoint(fields) or fields.get("resultType", "complete") != "complete":
        return answer
    carried = CarriedResult.make(fields, is_large=isinstance(answer, LargeResponse))
    empty: dict[str, Json] = {"content": [], "_meta": {_KEY: carried}}
    empty |= {"resultType": "complete"} if "resultType" in fields else {}  # the newest revision demands it
    return JSONRPCResponse.model_construct(jsonrpc="2.0", id=answer.id, result=empty)


def unpack_result(result: CallToolResult) -> CarriedResult:
    """Returns the result that ``result`` carries."""
    carried = (result.meta or {}).get(_KEY)
    # A server can write the key, but not the type: what it writes arrives as plain JSON.
    return carried if isinstance(carried, CarriedResult) else CarriedResult.make(result.model_dump(by_alias=True, mode="json"))
