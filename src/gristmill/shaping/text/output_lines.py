"""Printed text as units: a line, or a traceback as one piece; and units that repeat as runs."""

import re
from collections.abc import Sequence

from gristmill.values import dataclass

TRACEBACK = "Traceback (most recent call last):"
STACK_LINES = 4
"""Lines of a call stack that are kept, the last ones: where it happened."""
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}\b|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A line or a traceback; ``line`` is its place in the whole text, ``alike`` is equal for similar ones."""

    text: str
    line: int
    lines: int
    alike: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Units that follow each other and are alike; ``same`` when they do not even differ in their numbers."""

    units: Sequence[Unit]
    same: bool


def units_of(text: str) -> list[Unit]:
    """The text in pieces that are shown or left out whole."""
    lines = text.splitlines()
    units: list[Unit] = []
    at = 0
    while at < len(lines):
        end = _end_of_traceback(lines, at) if lines[at].endswith(TRACEBACK) else at + 1
        shown = "\n".join(_short_traceback(lines[at:end]))
        units.append(Unit(text=shown, line=at, lines=end - at, alike=_VARYING.sub("#", shown)))
        at = end
    return units


def runs_of(units: Sequence[Unit]) -> list[Run]:
    """Neighbours that are alike, together."""
    runs: list[Run] = []
    start = 0
    for at in range(1, len(units) + 1):
        if at == len(units) or units[at].alike != units[start].alike:
            run = units[start:at]
            runs.append(Run(units=run, same=len({unit.text for unit in run}) == 1))
            start = at
    return runs


def grouped(units: Sequence[Unit]) -> list[Run]:
    """All that are alike, together wherever they stand, in the order in which they first appear."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.alike, []).append(unit)
    return [Run(units=run, same=len({unit.text for unit in run}) == 1) for run in found.values()]


def _end_of_traceback(lines: Sequence[str], start: int) -> int:
    """After the line that names the exception: the first that is indented no deeper than the header."""
    margin = len(lines[start]) - len(lines[start].lstrip())
    at = start + 1
    while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) > margin:
        at += 1
    return min(at + 1, len(lines))


def _short_traceback(lines: Sequence[str]) -> Sequence[str]:
    left = len(lines) - 2 - STACK_LINES
    if left < 2:
        return lines
    return [lines[0], f"  ... {left:,} lines of the call stack left out", *lines[-STACK_LINES - 1 :]]
