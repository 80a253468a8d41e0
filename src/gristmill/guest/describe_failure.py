# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Describes an exception for the caller: only the program's own lines, and the limit that caused it, if one did."""

import asyncio
import errno
import os
import traceback

from gristmill.guest import tool_modules as tools
from gristmill.guest.calls.channel import ToolError
from gristmill.guest.json_values import clip_text

_OURS = os.path.dirname(os.path.abspath(__file__)).rpartition("/gristmill/")[0] + "/gristmill/"
_LIMIT_BY_ERRNO = {
    errno.EDQUOT: "workspace_mb",
    errno.EFBIG: "file_mb",
    errno.EMFILE: "open_files",
    errno.ENOMEM: "memory_mb",
}

_MOST_AWAITS = 100


def describe_failure(error):
    """Returns the text, the class name, and the name of the limit that was met or None."""
    try:
        text = "".join(_keep_program_lines(traceback.TracebackException.from_exception(error, compact=True)).format())
    except Exception:  # a hostile __str__, no memory left: the class name is still useful
        text = f"{type(error).__name__} (its traceback cannot be shown)"
    return clip_text(text.rstrip("\n")), type(error).__name__, find_limit(error)


def describe_interrupt(error, loop, name):
    """Describes an interrupt of the program ``name``; if it waited in an event loop, its line is not in the traceback and is
    added."""
    text, kind, limit = describe_failure(error)
    if f'File "{name}"' not in text and (line := _find_waiting_line(loop, name)):
        text = f'Traceback (most recent call last):\n  File "{name}", line {line}\n{text}'
    return text, kind, limit


def _find_waiting_line(loop, name):
    """Returns the line at which a task of the program waits, the innermost one, or None."""
    try:
        tasks = list(asyncio.all_tasks(loop)) if loop is not None and not loop.is_closed() else []
        for task in tasks:
            awaited, line = task.get_coro(), None
            for _ in range(_MOST_AWAITS):
                frame = getattr(awaited, "cr_frame", None)
                if frame is None:
                    break
                if frame.f_code.co_filename == name:
                    line = frame.f_lineno
                awaited = awaited.cr_await
            if line is not None:
                return line
    except Exception:  # the program may have replaced any of these
        return None
    return None


def _keep_program_lines(shown):
    """Drops our frames, and everything before the program's first line."""
    ours = (_OURS, *([tools.get_typed_folder()] if tools.get_typed_folder() else []))
    frames = [frame for frame in shown.stack if not frame.filename.startswith(ours)]
    first = next(
        (index for index, frame in enumerate(frames) if frame.filename.startswith(tools.PROGRAM_FILE_PREFIX)), len(frames)
    )
    shown.stack = traceback.StackSummary.from_list(frames[first:] or [])
    for inner in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        if inner is not None:
            _keep_program_lines(inner)
    return shown


def find_limit(error):
    """Returns the limit that caused this exception, known by its kind, or None. The host checks what it can."""
    if isinstance(error, MemoryError):
        return "memory_mb"
    if isinstance(error, ToolError):
        return error.code.removeprefix("limit.") if error.code.startswith("limit.") else None
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return "workspace_files" if _has_no_files_left(error.filename) else "workspace_mb"
        if error.errno == errno.EAGAIN and isinstance(error, BlockingIOError):
            return "processes"
        return _LIMIT_BY_ERRNO.get(error.errno)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "processes"
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(find_limit, error.exceptions)), None)
    return None


def _has_no_files_left(name):
    try:
        return os.statvfs(os.path.dirname(name) if isinstance(name, str) and os.path.dirname(name) else ".").f_favail == 0
    except OSError:
        return False
