"""Splits printed text into units (a line, or a whole traceback), and groups units that repeat."""

import re
from collections.abc import Sequence

from msgspec import Struct

TRACEBACK = "Traceback (most recent call last):"
STACK_LINES = 4
"""Lines of a call stack that are kept: the last ones, which say where it happened."""
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}\b|\d+")


class OutputUnit(Struct, frozen=True, kw_only=True):
    """A line or a traceback; ``line`` is its place in the whole text, ``alike`` is equal for similar units."""

    text: str
    line: int
    lines: int
    alike: str


class RepeatedUnits(Struct, frozen=True, kw_only=True):
    """A group of units that are alike; ``same`` if they do not even differ in their numbers."""

    units: Sequence[OutputUnit]
    same: bool


def split_units(text: str) -> list[OutputUnit]:
    """Splits the text into units that are shown or left out as a whole."""
    lines = text.splitlines()
    units: list[OutputUnit] = []
    at = 0
    while at < len(lines):
        end = _find_traceback_end(lines, at) if lines[at].endswith(TRACEBACK) else at + 1
        shown = "\n".join(_shorten_traceback(lines[at:end]))
        units.append(OutputUnit(text=shown, line=at, lines=end - at, alike=_VARYING.sub("#", shown)))
        at = end
    return units


def group_neighbours(units: Sequence[OutputUnit]) -> list[RepeatedUnits]:
    """Groups neighbouring units that are alike."""
    runs: list[RepeatedUnits] = []
    start = 0
    for at in range(1, len(units) + 1):
        if at == len(units) or units[at].alike != units[start].alike:
            run = units[start:at]
            runs.append(RepeatedUnits(units=run, same=len({unit.text for unit in run}) == 1))
            start = at
    return runs


def group_alike(units: Sequence[OutputUnit]) -> list[RepeatedUnits]:
    """Groups all units that are alike wherever they stand, in the order of their first appearance."""
    found: dict[str, list[OutputUnit]] = {}
    for unit in units:
        found.setdefault(unit.alike, []).append(unit)
    return [RepeatedUnits(units=run, same=len({unit.text for unit in run}) == 1) for run in found.values()]


def _find_traceback_end(lines: Sequence[str], start: int) -> int:
    """Returns the place after the line that names the exception: the first one indented no deeper than the header."""
    margin = len(lines[start]) - len(lines[start].lstrip())
    at = start + 1
    while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) > margin:
        at += 1
    return min(at + 1, len(lines))


def _shorten_traceback(lines: Sequence[str]) -> Sequence[str]:
    left = len(lines) - 2 - STACK_LINES
    if left < 2:
        return lines
    return [lines[0], f"  ... {left:,} lines of the call stack left out", *lines[-STACK_LINES - 1 :]]
