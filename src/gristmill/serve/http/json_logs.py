"""Writes the log: one JSON object per line, or lines for a person at a terminal. No header, body, query or token is logged."""

import json
import logging
import re
import sys
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO, cast

from gristmill.events import ConfigChanged, Event, ServerChanged, drop_server_output
from gristmill.harmless_text import neutralize_text
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.foreign_loggers import LOGGERS

log = logging.getLogger("gristmill.http")
FIELD = "fields"
_request: ContextVar[str | None] = ContextVar("request", default=None)
"""The id of the request that is being answered. Every line that is logged for it, or for tasks that it started, contains it."""
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SECRET = re.compile(
    r"gm_[0-9a-f]+_[\w-]+"  # our tokens
    r"|(?i:bearer|basic)\s+[\w.~+/=-]{8,}"
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*"  # tokens of identity providers
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"  # a password in an address
)
"""Secrets that are replaced in every line: libraries and tool servers write texts of their own into the log."""
HIDDEN = "[hidden]"


class JsonLines(logging.Formatter):
    """Formats a record as one line of ASCII JSON: nothing in it can begin a new line or steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line for ``record``."""
        return json.dumps(self.collect_fields(record), default=str)

    def collect_fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Returns what is logged of ``record``, without secrets."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = _SECRET.sub(HIDDEN, record.getMessage())
        line: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "event": event}
        if record.name != log.name:
            line["logger"] = record.name
        fields: dict[str, Any] = getattr(record, FIELD, {})
        line |= {"request": _request.get()}
        line |= {name: _SECRET.sub(HIDDEN, value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info and record.exc_info[0] is not None:
            # The frames, not the text: the text of a library's error may contain secrets that it was given.
            line["error"] = record.exc_info[0].__name__
            line["at"] = _list_frames(record.exc_info[2])
        return {name: value for name, value in line.items() if value is not None}


class HumanLines(JsonLines):
    """Formats a record for a person at a terminal: time, level if it matters, event, and the fields after it."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line for ``record``; no text in it can steer the terminal."""
        fields = self.collect_fields(record)
        for name in ("time", "level", "request", "logger"):
            fields.pop(name, None)
        when = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = f"{record.levelname} " if record.levelno >= logging.WARNING else ""
        said = " ".join([str(fields.pop("event")), *(f"{name}={_format_field(value)}" for name, value in fields.items())])
        return f"{when} {level}{' '.join(neutralize_text(said).split())}"


def _format_field(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, cast("list[Any]", value)))
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or not text else text


def set_up_logs(level: str, stream: TextIO | None = None) -> None:
    """Sets up logging to ``stream`` (default stderr): our records from ``level`` on, those of libraries from warnings on.

    On a terminal lines are for people; in a pipe or a file they are JSON.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(HumanLines() if handler.stream.isatty() else JsonLines())
    chosen = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(logging.WARNING, chosen))
    for name in ("gristmill", *LOGGERS):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(chosen if name == "gristmill" else logging.NOTSET)


def begin_request(given: str = "") -> str:
    """Assigns the following lines of this task, and of tasks that it starts, to a request; returns its id.

    The id is ``given`` if that is a valid id, otherwise a new one.
    """
    id_ = given if _VALID_ID.fullmatch(given) else uuid.uuid4().hex[:16]
    _request.set(id_)
    return id_


def log_event(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Logs one line with these fields."""
    if log.isEnabledFor(level):
        log.log(level, event, extra={FIELD: fields})


def log_run_end(run: ActiveRun) -> None:
    """Logs a line when a run has ended, unless the line of its request says it."""
    if run.background or run.outcome is None or run.via is not None:
        tenant, caller = run.identity.tenant, run.identity.caller
        log_event("execution", execution=run.id, tenant=tenant, caller=caller, status=run.status, via=run.via)


def log_server_change(event: Event) -> None:
    """Logs a line when a tool server becomes ready or fails."""
    if isinstance(event, ServerChanged) and event.state in ("ready", "failed"):
        level = logging.WARNING if event.state == "failed" else logging.INFO
        # What the server's program wrote to its own log may contain secrets: `gristmill doctor` shows it, this log must not.
        why = drop_server_output(event.error) if event.error else None
        log_event(f"server {event.state}", level=level, server=event.server, reason=why)


def log_config_change(change: ConfigChanged) -> None:
    """Logs a line when the configuration was changed while it was in use, or could not be."""
    if change.error is not None:
        log_event("configuration not changed", level=logging.ERROR, reason=change.error)
        return
    level = logging.WARNING if change.waiting else logging.INFO
    log_event(
        "configuration changed", level=level, added=change.added or None, removed=change.removed or None,
        changed=change.changed or None, policy=change.policy or None, rollout=change.rollout or None,
        waiting_for_restart=change.waiting or None,
    )  # fmt: skip


def _list_frames(trace: Any) -> list[str]:
    found: list[str] = []
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-8:]
