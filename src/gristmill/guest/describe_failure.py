# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""An exception as the agent should see it: its own lines, none of ours, and the limit behind it if there is one."""

import errno
import os
import traceback

from gristmill.guest import tool_modules as tools
from gristmill.guest.channel import ToolError
from gristmill.guest.json_values import clip

_OURS = os.path.dirname(os.path.abspath(__file__)).rpartition("/gristmill/")[0] + "/gristmill/"
_LIMIT_BY_ERRNO = {
    errno.EDQUOT: "workspace_mb",
    errno.EFBIG: "file_mb",
    errno.EMFILE: "open_files",
    errno.ENOMEM: "memory_mb",
}


def describe(error):
    """Text, class name and the name of the limit that was met, or None."""
    try:
        text = "".join(_own_lines(traceback.TracebackException.from_exception(error, compact=True)).format())
    except Exception:  # a hostile __str__, no memory left: the class name is still worth telling
        text = f"{type(error).__name__} (its traceback cannot be shown)"
    return clip(text.rstrip("\n")), type(error).__name__, limit_behind(error)


def _own_lines(shown):
    """Drop our frames, and everything before the agent's first line."""
    ours = (_OURS, *([tools.typed_modules()] if tools.typed_modules() else []))
    frames = [frame for frame in shown.stack if not frame.filename.startswith(ours)]
    first = next((index for index, frame in enumerate(frames) if frame.filename.startswith(tools.AGENT)), len(frames))
    shown.stack = traceback.StackSummary.from_list(frames[first:] or [])
    for inner in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        if inner is not None:
            _own_lines(inner)
    return shown


def limit_behind(error):
    """The limit that made this exception, told by its kind. The host checks what it can."""
    if isinstance(error, MemoryError):
        return "memory_mb"
    if isinstance(error, ToolError):
        return error.code.removeprefix("limit.") if error.code.startswith("limit.") else None
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return "workspace_files" if _no_files_left(error.filename) else "workspace_mb"
        if error.errno == errno.EAGAIN and isinstance(error, BlockingIOError):
            return "processes"
        return _LIMIT_BY_ERRNO.get(error.errno)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "processes"
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(limit_behind, error.exceptions)), None)
    return None


def _no_files_left(name):
    try:
        return os.statvfs(os.path.dirname(name) if isinstance(name, str) and os.path.dirname(name) else ".").f_favail == 0
    except OSError:
        return False
