"""Log lines as JSON, one per line: when, what, which request and execution. No header, body, query or token ever gets in."""

import json
import logging
import re
import sys
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from gristmill.events import Event, ServerChanged
from gristmill.serve.foreign_loggers import LOGGERS

log = logging.getLogger("gristmill.http")
FIELD = "fields"
_request: ContextVar[str | None] = ContextVar("request", default=None)
"""The id of the request that is being answered, and of what it set going: every line that is logged meanwhile has it."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SECRET = re.compile(
    r"gm_[0-9a-f]+_[\w-]+"  # our tokens
    r"|(?i:bearer|basic)\s+[\w.~+/=-]{8,}"
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*"  # tokens of identity providers
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"  # a password in an address
)
"""What no line may hold, whoever wrote its text: libraries and tool servers word their own complaints."""
HIDDEN = "[hidden]"


class JsonLines(logging.Formatter):
    """A record as one line of ASCII JSON: nothing in it can begin a new line or steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = _SECRET.sub(HIDDEN, record.getMessage())
        line: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "event": event}
        if record.name != log.name:
            line["logger"] = record.name
        fields: dict[str, Any] = getattr(record, FIELD, {})
        line |= {"request": _request.get()}
        line |= {name: _SECRET.sub(HIDDEN, value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info and record.exc_info[0] is not None:
            # The frames, not the text: the text of a foreign error may hold what it was given.
            line["error"] = record.exc_info[0].__name__
            line["at"] = _frames(record.exc_info[2])
        return json.dumps({name: value for name, value in line.items() if value is not None}, default=str)


def set_up_logs(level: str, stream: TextIO | None = None) -> None:
    """Log to ``stream`` (stderr), ours from ``level`` on; what libraries say from warnings on, in the same form."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    chosen = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(logging.WARNING, chosen))
    for name in ("gristmill", *LOGGERS):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(chosen if name == "gristmill" else logging.NOTSET)


def begin_request(given: str = "") -> str:
    """Lines of this task, and of those that it starts, belong to a request from here on: its id, ``given`` if that can be one."""
    id_ = given if _ID.fullmatch(given) else uuid.uuid4().hex[:16]
    _request.set(id_)
    return id_


def say(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """One line with these fields."""
    if log.isEnabledFor(level):
        log.log(level, event, extra={FIELD: fields})


def log_servers(event: Event) -> None:
    """A line when a tool server becomes ready or fails."""
    if isinstance(event, ServerChanged) and event.state in ("ready", "failed"):
        level = logging.WARNING if event.state == "failed" else logging.INFO
        # What its program wrote to its own log may hold anything: that is for `gristmill doctor`, not for ours.
        why = event.error.partition("; it said:")[0] if event.error else None
        say(f"server {event.state}", level=level, server=event.server, reason=why)


def _frames(trace: Any) -> list[str]:
    found: list[str] = []
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-8:]
