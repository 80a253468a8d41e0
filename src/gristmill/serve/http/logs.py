"""Log lines as JSON, one per line: when, what, which request and execution. No header, body, query or token ever gets in."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

log = logging.getLogger("gristmill.http")
FIELD = "fields"


class JsonLines(logging.Formatter):
    """A record as one line of ASCII JSON: nothing in it can begin a new line or steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, FIELD, {})
        if record.exc_info and record.exc_info[0] is not None:
            # The frames, not the text: the text of a foreign error may hold what it was given.
            line["error"] = record.exc_info[0].__name__
            line["at"] = _frames(record.exc_info[2])
        return json.dumps({name: value for name, value in line.items() if value is not None}, default=str)


def set_up_logs(level: str, stream: TextIO | None = None) -> None:
    """Log to ``stream`` (stderr) from ``level`` on, ours and the web server's alike."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("gristmill", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler] if name != "uvicorn.error" else [], name == "uvicorn.error"
        logger.setLevel(
            level.upper() if name == "gristmill" else max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()])
        )


def say(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """One line with these fields."""
    if log.isEnabledFor(level):
        log.log(level, event, extra={FIELD: fields})


def _frames(trace: Any) -> list[str]:
    found: list[str] = []
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-8:]
