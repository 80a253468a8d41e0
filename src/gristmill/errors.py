"""Every exception Gristmill raises. Lowest ground: imports nothing of ours.

    Error
    ├── ConfigError                                nothing was started
    ├── UpstreamError   UpstreamUnavailable · UpstreamTimeout · ToolFailed
    ├── NotFound        UnknownTool · UnknownSession · UnknownSkill
    ├── Refused         CodeRefused · CallRefused               carries .rule
    ├── LimitExceeded   Busy                       carries .limit and .value
    ├── Unauthorized                               nobody we know
    ├── Conflict        Cancelled                  it was done already, or differently, or broken off
    ├── StoreUnavailable                           nothing was recorded
    └── SandboxError    SandboxUnavailable (we never run without) · SandboxCrashed

The agent's own exception is not in this tree: it is an ``Outcome`` with ``status="failed"``.
"""

from collections.abc import Sequence
from typing import ClassVar


class Error(Exception):
    """Base of everything raised on purpose; ``code`` is the same in HTTP, MCP, CLI, audit and metrics."""

    code: ClassVar[str] = "error"

    @property
    def message(self) -> str:
        """What went wrong and what to do about it, without the class name."""
        return str(self)


class ConfigError(Error):
    """The configuration cannot be used; nothing was started."""

    code = "config"


class UpstreamError(Error):
    """A tool server did not do what it was asked."""

    code = "upstream"


class UpstreamUnavailable(UpstreamError):
    """The server cannot be reached or started."""

    code = "upstream.unavailable"


class UpstreamTimeout(UpstreamError):
    """The server did not answer in time."""

    code = "upstream.timeout"


class ToolFailed(UpstreamError):
    """The tool answered that it failed."""

    code = "upstream.tool_failed"


class NotFound(Error):
    """There is no such thing; ``near`` holds names that are close to it."""

    code = "not_found"

    def __init__(self, message: str, *, near: Sequence[str] = ()) -> None:
        super().__init__(message + (f"; did you mean {', '.join(near)}?" if near else ""))
        self.near = tuple(near)


class UnknownTool(NotFound):
    """No server offers a tool of that name."""

    code = "not_found.tool"


class UnknownSession(NotFound):
    """No session of that name, or it has expired."""

    code = "not_found.session"


class UnknownSkill(NotFound):
    """No skill of that name."""

    code = "not_found.skill"


class Refused(Error):
    """A rule said no; ``rule`` names it."""

    code = "refused"

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class CodeRefused(Refused):
    """The code was not run."""

    code = "refused.code"


class CallRefused(Refused):
    """The tool call did not leave."""

    code = "refused.call"


class LimitExceeded(Error):
    """A limit was reached; ``limit`` is its configuration key, ``value`` what it was set to."""

    code = "limit"

    def __init__(self, message: str, *, limit: str, value: float) -> None:
        super().__init__(message)
        self.limit = limit
        self.value = value


class Busy(LimitExceeded):
    """Too much at once; ``retry_after`` says in how many seconds to come again."""

    code = "limit.busy"

    def __init__(self, message: str, *, limit: str, value: float, retry_after: float = 1.0) -> None:
        super().__init__(message, limit=limit, value=value)
        self.retry_after = retry_after


class Unauthorized(Error):
    """A door does not know who asks."""

    code = "unauthorized"


class Conflict(Error):
    """The request does not fit what was done before under the same key."""

    code = "conflict"


class Cancelled(Conflict):
    """The execution was ended from outside before it was done."""

    code = "cancelled"


class StoreUnavailable(Error):
    """The database could not be read or written; what was to be recorded is not."""

    code = "store.unavailable"


class SandboxError(Error):
    """The sandbox, not the agent's code, failed."""

    code = "sandbox"


class SandboxUnavailable(SandboxError):
    """The promised isolation cannot be had here, so nothing runs."""

    code = "sandbox.unavailable"


class SandboxCrashed(SandboxError):
    """The sandbox ended without an answer."""

    code = "sandbox.crashed"
