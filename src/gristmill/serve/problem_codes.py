"""The one table of exit codes, HTTP statuses and problem JSON for errors and outcomes."""

from typing import Any

from gristmill.errors import (
    Busy,
    ConfigError,
    Conflict,
    Error,
    LimitExceeded,
    ModelBusy,
    ModelFailed,
    NotFound,
    PromptTooLong,
    Refused,
    SandboxError,
    StoreUnavailable,
    Unauthorized,
    UpstreamError,
    UpstreamTimeout,
)
from gristmill.model import Status

EXIT_CODES: dict[type[Error], int] = {
    ConfigError: 2,
    Refused: 2,
    NotFound: 2,
    LimitExceeded: 3,
    UpstreamError: 5,
    ModelFailed: 5,
    SandboxError: 6,
    Error: 1,
}
STATUS_EXIT_CODES: dict[Status, int] = {"ok": 0, "failed": 1, "refused": 2, "limited": 3, "crashed": 4, "awaiting_approval": 7}

HTTP_STATUSES: dict[type[Error], int] = {
    ConfigError: 400,
    Unauthorized: 401,
    Refused: 403,
    NotFound: 404,
    Conflict: 409,
    Busy: 429,
    LimitExceeded: 413,
    ModelBusy: 429,
    PromptTooLong: 413,
    ModelFailed: 502,
    UpstreamTimeout: 504,
    UpstreamError: 502,
    SandboxError: 503,
    StoreUnavailable: 503,
    Error: 500,
}
"""The first type that matches an error decides. A failed program is not an error here: `POST /execute` answers 200 with its
outcome."""


def find_exit_code(error: Error) -> int:
    """Returns the exit code of the command line for ``error``."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def find_http_status(error: Error) -> int:
    """Returns the HTTP status for ``error``."""
    return next(status for kind, status in HTTP_STATUSES.items() if isinstance(error, kind))


def describe_problem(error: Error) -> dict[str, Any]:
    """Returns an error as problem JSON: its stable code, its message, and what else it carries."""
    carried = {name: getattr(error, name, None) for name in ("rule", "limit", "near", "execution")}
    return {"code": error.code, "message": error.message, **{name: value for name, value in carried.items() if value}}
