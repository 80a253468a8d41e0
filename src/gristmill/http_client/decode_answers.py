"""What the service answers, as our own values and errors: the same that the library gives and raises."""

from typing import Any

import msgspec

from gristmill import errors
from gristmill.errors import Busy, Error, LimitExceeded, Refused
from gristmill.model import Outcome

_KINDS = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Error)}


def outcome_of(body: bytes | dict[str, Any]) -> Outcome:
    """An outcome as it went into the answer."""
    return msgspec.json.decode(body, type=Outcome) if isinstance(body, bytes) else msgspec.convert(body, Outcome)


def error_of(status: int, body: bytes, retry_after: float = 1.0) -> Error:
    """The error behind a problem."""
    try:
        told: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return Error(f"the service answered {status}")
    kind, message = _KINDS.get(str(told.get("code")), Error), str(told.get("message", f"the service answered {status}"))
    if issubclass(kind, Busy):
        return kind(message, limit=str(told.get("limit")), value=0, retry_after=retry_after)
    if issubclass(kind, LimitExceeded):
        return kind(message, limit=str(told.get("limit")), value=0)
    if issubclass(kind, Refused):
        return kind(message, rule=str(told.get("rule")))
    # Near names are part of the message already.
    return kind(message)
