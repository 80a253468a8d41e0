"""Every exception that Gristmill raises on purpose. Imports no other module of Gristmill.

    Error
    ├── ConfigError                                nothing was started
    ├── UpstreamError   UpstreamUnavailable · UpstreamTimeout · ToolFailed
    ├── ModelFailed     ModelBusy (carries .retry_after) · PromptTooLong
    ├── NotFound        UnknownTool · UnknownSession · UnknownSkill
    ├── Refused         CodeRefused · CallRefused               carries .rule
    ├── LimitExceeded   Busy                       carries .limit and .value
    ├── Unauthorized                               the caller is not known
    ├── Conflict        Cancelled · Interrupted    already done, done differently, or not finished
    ├── StoreUnavailable                           nothing was recorded
    │   └── OutcomeNotStored                       carries .outcome: the execution ended
    └── SandboxError    SandboxUnavailable (code never runs without a sandbox) · SandboxCrashed

An exception that the executed code raises is not in this tree: it becomes an ``Outcome`` with ``status="failed"``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar


class Error(Exception):
    """Base class of every error raised on purpose; ``code`` is the same in HTTP, MCP, CLI, audit and metrics."""

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


class ModelFailed(Error):
    """The provider of the model in front of the tools did not answer."""

    code = "model"


class ModelBusy(ModelFailed):
    """The provider limits the rate or is overloaded; ``retry_after`` says after how many seconds to ask again, if it said so."""

    code = "model.busy"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PromptTooLong(ModelFailed):
    """The conversation does not fit the context of the model."""

    code = "model.prompt_too_long"


class NotFound(Error):
    """The named thing does not exist; ``near`` holds existing names that are similar."""

    code = "not_found"

    def __init__(self, message: str, *, near: Sequence[str] = ()) -> None:
        super().__init__(message + (f"; did you mean {', '.join(near)}?" if near else ""))
        self.near = tuple(near)


class UnknownTool(NotFound):
    """No server offers a tool of that name."""

    code = "not_found.tool"


class UnknownSession(NotFound):
    """There is no session of that name, or it has expired."""

    code = "not_found.session"


class UnknownSkill(NotFound):
    """There is no skill of that name."""

    code = "not_found.skill"


class Refused(Error):
    """A rule forbids this; ``rule`` names the rule."""

    code = "refused"

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class CodeRefused(Refused):
    """The code was not run."""

    code = "refused.code"


class CallRefused(Refused):
    """The tool call was not sent to its server."""

    code = "refused.call"


class LimitExceeded(Error):
    """A limit was reached; ``limit`` is its configuration key, ``value`` what it was set to."""

    code = "limit"

    def __init__(self, message: str, *, limit: str, value: float) -> None:
        super().__init__(message)
        self.limit = limit
        self.value = value


class Busy(LimitExceeded):
    """Too many requests at once; ``retry_after`` says after how many seconds to try again."""

    code = "limit.busy"

    def __init__(self, message: str, *, limit: str, value: float, retry_after: float = 1.0) -> None:
        super().__init__(message, limit=limit, value=value)
        self.retry_after = retry_after


class Unauthorized(Error):
    """The request carries no valid credentials, so the caller is not known."""

    code = "unauthorized"


class Conflict(Error):
    """The request contradicts an earlier one with the same key."""

    code = "conflict"


class Cancelled(Conflict):
    """The execution was cancelled before it finished."""

    code = "cancelled"


class Interrupted(Conflict):
    """An execution with the same key was begun and not finished; ``execution`` is the id by which it can be resumed."""

    code = "conflict.interrupted"

    def __init__(self, message: str, *, execution: str) -> None:
        super().__init__(message)
        self.execution = execution


class StoreUnavailable(Error):
    """The database could not be read or written; nothing was recorded."""

    code = "store.unavailable"


class OutcomeNotStored(StoreUnavailable):
    """An execution has ended, but its record could not be stored; ``outcome`` is what its caller gets once it is."""

    code = "store.outcome_not_stored"

    def __init__(self, message: str, *, outcome: Any) -> None:
        super().__init__(message)
        self.outcome = outcome


class SandboxError(Error):
    """The sandbox failed, not the code that runs in it."""

    code = "sandbox"


class SandboxUnavailable(SandboxError):
    """This host does not offer the configured isolation, so no code is run."""

    code = "sandbox.unavailable"


class SandboxCrashed(SandboxError):
    """The sandbox ended without an answer."""

    code = "sandbox.crashed"
