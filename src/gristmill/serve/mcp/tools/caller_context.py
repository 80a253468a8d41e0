"""Reads the context of a call: values that the client application sends beside the arguments, which its model does not choose."""

from collections.abc import Mapping
from typing import cast

from gristmill.model import Json
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.tools.tool_arguments import WrongArguments

CONTEXT_KEY = "gristmill/context"
"""The key of the request's ``_meta`` under which an application passes the context."""
MOST_VALUES = 1_000


def read_caller_context(ctx: Ctx) -> dict[str, Json]:
    """Returns the context that came with a request; empty if none came.

    Raises:
        WrongArguments: it is no object with names as keys, or has too many of them.
    """
    given: object = (ctx.meta or {}).get(CONTEXT_KEY)
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(cast("Mapping[object, Json]", given)) > MOST_VALUES:
        raise WrongArguments(f"_meta of the request: {CONTEXT_KEY} must be an object with at most {MOST_VALUES:,} values")
    return dict(cast("Mapping[str, Json]", given))
