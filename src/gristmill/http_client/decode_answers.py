"""Decodes the service's answers into the same values and errors that the library returns and raises."""

from typing import Any

import msgspec

from gristmill import errors
from gristmill.errors import Busy, Error, Interrupted, LimitExceeded, Refused
from gristmill.model import Outcome

_ERRORS_BY_CODE = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Error)}


def decode_outcome(body: bytes | dict[str, Any]) -> Outcome:
    """Decodes an outcome from an answer."""
    return msgspec.json.decode(body, type=Outcome) if isinstance(body, bytes) else msgspec.convert(body, Outcome)


def decode_error(status: int, body: bytes, retry_after: float = 1.0) -> Error:
    """Decodes the error that a problem answer describes."""
    try:
        problem: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return Error(f"the service answered {status}")
    kind, message = (
        _ERRORS_BY_CODE.get(str(problem.get("code")), Error),
        str(problem.get("message", f"the service answered {status}")),
    )
    if issubclass(kind, Busy):
        return kind(message, limit=str(problem.get("limit")), value=0, retry_after=retry_after)
    if issubclass(kind, LimitExceeded):
        return kind(message, limit=str(problem.get("limit")), value=0)
    if issubclass(kind, Refused):
        return kind(message, rule=str(problem.get("rule")))
    if issubclass(kind, Interrupted):
        return kind(message, execution=str(problem.get("execution")))
    # Near names are already part of the message.
    return kind(message)
