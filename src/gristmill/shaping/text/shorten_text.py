"""Printed text in a given number of lines, by each strategy."""

import re
from collections.abc import Sequence
from functools import cache

from gristmill.model import Strategy
from gristmill.shaping.detail_ladder import STEPS
from gristmill.shaping.text.fold_text import fold
from gristmill.shaping.text.output_lines import Run, Unit, grouped, runs_of
from gristmill.values import dataclass

_TROUBLE = re.compile(r"(?i)\b(error|exception|traceback|warning|failed|failure|fatal|refused|denied)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """One step of the ladder for text: how many lines, and how many characters of each."""

    lines: int
    characters: int


@cache
def widths(tokens: int) -> tuple[Width, ...]:
    """Steps for a budget, rich to poor. A line keeps its first 200 characters until there are few lines left."""
    return tuple(
        Width(
            lines=max(2, int(tokens / 2 * 0.85**index)),
            characters=max(200 if index < STEPS - 12 else 12 * (STEPS - index), int(tokens * 4 * 0.7**index)),
        )
        for index in range(STEPS)
    )


def show_lines(units: Sequence[Unit], width: Width, strategy: Strategy) -> str:
    """What is shown of ``units``."""
    if strategy == "sample":
        return _sample(units, width)
    if strategy == "schema_only":
        return _schema(units, width)
    if strategy == "summarize":
        return _summary(units, width)
    return _ends(units, width, head=width.lines - width.lines // 3)


def show_end(units: Sequence[Unit], width: Width) -> str:
    """The first line and the last ones: an error says at its end what is wrong."""
    return _ends(units, width, head=1)


def _ends(units: Sequence[Unit], width: Width, head: int) -> str:
    if len(units) <= width.lines:
        return "\n".join(_folded(units, width))
    tail = max(1, width.lines - head)
    return "\n".join([*_folded(units[:head], width), _gap(units[head:-tail]), *_folded(units[-tail:], width)])


def _sample(units: Sequence[Unit], width: Width) -> str:
    most = min(width.lines, len(units))
    picked = [units[index * (len(units) - 1) // max(1, most - 1)] for index in range(most)]
    return "\n".join([f"... [{most:,} of {len(units):,} lines, evenly spaced] ...", *_folded(picked, width)])


def _schema(units: Sequence[Unit], width: Width) -> str:
    """How many lines of how many kinds, and an example of the most frequent ones."""
    kinds = sorted(grouped(units), key=lambda run: -len(run.units))
    examples = [f"{len(run.units):,} x {fold(run.units[0].text, width.characters // 2)}" for run in kinds[: width.lines // 2]]
    return "\n".join([f"... [{_lines(units):,} lines, {len(kinds):,} kinds] ...", *examples])


def _summary(units: Sequence[Unit], width: Width) -> str:
    """Repeated lines once, with their number; then the first and the last; errors of the middle are not lost with it."""
    runs = runs_of(units)
    if len(runs) > width.lines:
        everywhere = grouped(units)
        # Lines that take turns (A B A B) make no runs, but few kinds.
        if len(everywhere) <= width.lines // 2:
            runs = everywhere
    each = max(1, width.lines // (2 * len(runs)))
    if len(runs) <= width.lines:
        return "\n".join(line for run in runs for line in _run(run, width, each))
    head, tail = width.lines // 2, max(1, width.lines // 3)
    middle = [unit for run in runs[head:-tail] for unit in run.units]
    shown = [line for run in runs[:head] for line in _run(run, width, 1)]
    shown += [_gap(middle), *_trouble(middle, width)]
    return "\n".join(shown + [line for run in runs[-tail:] for line in _run(run, width, 1)])


def _trouble(units: Sequence[Unit], width: Width) -> list[str]:
    most = width.lines // 6
    found = grouped([unit for unit in units if _TROUBLE.search(unit.text)]) if most else []
    return [line for run in found[:most] for line in _run(run, width, 1)] + (["... [lines left out] ..."] if found else [])


def _run(run: Run, width: Width, each: int) -> list[str]:
    """The first of the run and its last, with the number of those between; a short run as it is."""
    if len(run.units) <= max(2, each):
        return _folded(run.units, width)
    if run.same:
        return [*_folded(run.units[:1], width), f"... the same {_word(run)} {len(run.units) - 1:,} more times"]
    between = len(run.units) - each - 1
    if between < 2:
        return _folded(run.units, width)
    return [*_folded(run.units[:each], width), f"... {between:,} similar {_word(run)}s", *_folded(run.units[-1:], width)]


def _word(run: Run) -> str:
    return "line" if run.units[0].lines == 1 else "traceback"


def _folded(units: Sequence[Unit], width: Width) -> list[str]:
    return [fold(unit.text, width.characters) for unit in units]


def _gap(units: Sequence[Unit]) -> str:
    return f"... [{_lines(units):,} lines left out] ..."


def _lines(units: Sequence[Unit]) -> int:
    return sum(unit.lines for unit in units)
