"""One table: what an error or an outcome is called at each door."""

from gristmill.errors import ConfigError, Error, LimitExceeded, NotFound, Refused, SandboxError, UpstreamError
from gristmill.model import Status

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

EXIT_CODES: dict[type[Error], int] = {
    ConfigError: 2,
    Refused: 2,
    NotFound: 2,
    LimitExceeded: 3,
    UpstreamError: 5,
    SandboxError: 6,
    Error: 1,
}
STATUS_EXIT_CODES: dict[Status, int] = {"ok": 0, "failed": 1, "refused": 2, "limited": 3, "crashed": 4, "awaiting_approval": 7}


def exit_code(error: Error) -> int:
    """The exit code of the command line for ``error``."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
