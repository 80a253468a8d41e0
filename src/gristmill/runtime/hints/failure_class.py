"""The structure of the table of failures: what a failure looks like, and the hint that it gets."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from gristmill.escape_text import shorten_name
from gristmill.model import Report

MOST_ERROR_CHARACTERS = 2_000
"""How much of the end of an error is compared with patterns."""
MOST_GROUP_CHARACTERS = 120
MOST_CODE_SEARCHED = 60_000
"""How much of a program is compared with patterns: other callers wait meanwhile."""
_ANY_FRAME = re.compile(r'  File "<code \d+>", line (\d+)')
_GROUP_MARKS = " |+-"
"""What stands in front of the lines of the errors in a group."""
_OWN_ERROR = re.compile(r"^mcp_client\.\w+: ")
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+)(?::|$)")


class FailureClass(Struct, frozen=True, kw_only=True):
    """One kind of failure. Everything that is given must fit; the first class of the table that fits gives the hint."""

    name: str
    """Its stable name, ``group.case``."""
    when: str
    """What happened, for the reference page."""
    hint: str
    """What to do instead. ``{names}`` are groups of the patterns, or facts (``FailureFacts``)."""
    errors: frozenset[str] = frozenset()
    """Names of exception classes, or codes of Gristmill's errors; empty fits any."""
    text: str = ""
    """A regular expression that is searched in the last exception of the error."""
    code: str = ""
    """A regular expression that is searched in the program."""
    limit: str = ""
    """The limit that was exceeded."""
    status: frozenset[str] = frozenset({"failed"})
    """Statuses of outcomes; ``error`` is an error that a door answers without an outcome."""
    session: Literal["any", "without", "with"] = "any"
    """Whether the run must have been in a session."""
    needs: tuple[str, ...] = ()
    """Facts that must be known."""


class Failure(Struct, frozen=True, kw_only=True):
    """One failure as it is compared with the table."""

    status: str
    error_type: str = ""
    text: str = ""
    """The last exception, without its traceback."""
    code: str = ""
    limit: str = ""
    in_session: bool = False
    line: int | None = None
    """The last line of the program that the traceback names."""


def read_failure(report: Report, code: str, *, in_session: bool) -> Failure:
    """Reads the class and the text of the last exception out of a report."""
    error, kind = (report.error or "")[-MOST_ERROR_CHARACTERS:], report.error_type or ""
    frames = _ANY_FRAME.findall(error)
    if kind.endswith("ExceptionGroup"):
        text = next((bare for line in reversed(error.split("\n")) if (bare := line.lstrip(_GROUP_MARKS))), error)
        raised = _RAISED.match(text)
        kind = raised[1] if raised else kind
    else:
        text = error if report.status == "refused" else _cut_traceback(error)
    return Failure(
        status=report.status, error_type=kind, text=_OWN_ERROR.sub("", text), code=code, limit=report.limit or "",
        in_session=in_session,
        line=int(frames[-1]) if frames else None,
    )  # fmt: skip


def match_failure(known: FailureClass, failure: Failure) -> Mapping[str, str] | None:
    """Returns the groups of the patterns if ``failure`` is of this class, else None."""
    if failure.status not in known.status or (known.errors and failure.error_type not in known.errors):
        return None
    if (known.limit and failure.limit != known.limit) or (
        known.session != "any" and failure.in_session != (known.session == "with")
    ):
        return None
    groups: dict[str, str] = {}
    for pattern, searched in ((known.text, failure.text), (known.code, failure.code[:MOST_CODE_SEARCHED])):
        if not pattern:
            continue
        # Compiled when first needed: most failures are of few classes, and each start would compile a hundred patterns.
        found = re.search(pattern, searched, re.MULTILINE)
        if found is None:
            return None
        # On one line: the text of an error must not look like another line of ours.
        groups |= {
            name: shorten_name(value, MOST_GROUP_CHARACTERS) for name, value in found.groupdict().items() if value is not None
        }
    return groups


def _cut_traceback(error: str) -> str:
    """Returns what stands after the last frame: the exception and its message."""
    lines = error.split("\n")
    last = max((place for place, line in enumerate(lines) if line.startswith('  File "')), default=-1)
    raised = next((place for place in range(last + 1, len(lines)) if not lines[place].startswith(" ")), 0)
    return "\n".join(lines[raised:])
