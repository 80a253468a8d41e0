"""Shortens printed text to a given number of lines, by each strategy."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from gristmill.model import Strategy
from gristmill.shaping.detail_ladder import STEPS
from gristmill.shaping.text.fold_text import fold_text
from gristmill.shaping.text.output_lines import OutputUnit, RepeatedUnits, group_alike, group_neighbours

_TROUBLE = re.compile(r"(?i)\b(error|exception|traceback|warning|failed|failure|fatal|refused|denied)")


class TextWidth(Struct, frozen=True, kw_only=True):
    """One step of the ladder for text: how many lines are shown, and how many characters of each."""

    lines: int
    characters: int


@cache
def build_widths(tokens: int) -> tuple[TextWidth, ...]:
    """Returns the steps for a budget, rich to poor. A line keeps its first 200 characters until few lines are left."""
    return tuple(
        TextWidth(
            lines=max(2, int(tokens / 2 * 0.85**index)),
            characters=max(200 if index < STEPS - 12 else 12 * (STEPS - index), int(tokens * 4 * 0.7**index)),
        )
        for index in range(STEPS)
    )


def show_lines(units: Sequence[OutputUnit], width: TextWidth, strategy: Strategy) -> str:
    """Returns what is shown of ``units`` by that strategy."""
    if strategy == "sample":
        return _show_sample(units, width)
    if strategy == "schema_only":
        return _show_kinds(units, width)
    if strategy == "summarize":
        return _show_summary(units, width)
    return _show_ends(units, width, head=width.lines - width.lines // 3)


def show_end(units: Sequence[OutputUnit], width: TextWidth) -> str:
    """Returns the first line and the last ones: an error says at its end what is wrong."""
    return _show_ends(units, width, head=1)


def _show_ends(units: Sequence[OutputUnit], width: TextWidth, head: int) -> str:
    if len(units) <= width.lines:
        return "\n".join(_fold_units(units, width))
    tail = max(1, width.lines - head)
    return "\n".join([*_fold_units(units[:head], width), _describe_gap(units[head:-tail]), *_fold_units(units[-tail:], width)])


def _show_sample(units: Sequence[OutputUnit], width: TextWidth) -> str:
    most = min(width.lines, len(units))
    picked = [units[index * (len(units) - 1) // max(1, most - 1)] for index in range(most)]
    return "\n".join([f"... [{most:,} of {len(units):,} lines, evenly spaced] ...", *_fold_units(picked, width)])


def _show_kinds(units: Sequence[OutputUnit], width: TextWidth) -> str:
    """Returns the number of lines and of kinds, and an example of the most frequent kinds."""
    kinds = sorted(group_alike(units), key=lambda run: -len(run.units))
    examples = [
        f"{len(run.units):,} x {fold_text(run.units[0].text, width.characters // 2)}" for run in kinds[: width.lines // 2]
    ]
    return "\n".join([f"... [{_count_lines(units):,} lines, {len(kinds):,} kinds] ...", *examples])


def _show_summary(units: Sequence[OutputUnit], width: TextWidth) -> str:
    """Returns repeated lines once with their number, then the first and the last lines; errors in the middle are kept."""
    runs = group_neighbours(units)
    if len(runs) > width.lines:
        everywhere = group_alike(units)
        # Lines that alternate (A B A B) form no runs, but few kinds.
        if len(everywhere) <= width.lines // 2:
            runs = everywhere
    each = max(1, width.lines // (2 * len(runs)))
    if len(runs) <= width.lines:
        return "\n".join(line for run in runs for line in _show_run(run, width, each))
    head, tail = width.lines // 2, max(1, width.lines // 3)
    middle = [unit for run in runs[head:-tail] for unit in run.units]
    shown = [line for run in runs[:head] for line in _show_run(run, width, 1)]
    shown += [_describe_gap(middle), *_show_trouble(middle, width)]
    return "\n".join(shown + [line for run in runs[-tail:] for line in _show_run(run, width, 1)])


def _show_trouble(units: Sequence[OutputUnit], width: TextWidth) -> list[str]:
    most = width.lines // 6
    found = group_alike([unit for unit in units if _TROUBLE.search(unit.text)]) if most else []
    return [line for run in found[:most] for line in _show_run(run, width, 1)] + (["... [lines left out] ..."] if found else [])


def _show_run(run: RepeatedUnits, width: TextWidth, each: int) -> list[str]:
    """Returns the first and the last unit of the run with the number between them; a short run unchanged."""
    if len(run.units) <= max(2, each):
        return _fold_units(run.units, width)
    if run.same:
        return [*_fold_units(run.units[:1], width), f"... the same {_name_unit(run)} {len(run.units) - 1:,} more times"]
    between = len(run.units) - each - 1
    if between < 2:
        return _fold_units(run.units, width)
    return [
        *_fold_units(run.units[:each], width),
        f"... {between:,} similar {_name_unit(run)}s",
        *_fold_units(run.units[-1:], width),
    ]


def _name_unit(run: RepeatedUnits) -> str:
    return "line" if run.units[0].lines == 1 else "traceback"


def _fold_units(units: Sequence[OutputUnit], width: TextWidth) -> list[str]:
    return [fold_text(unit.text, width.characters) for unit in units]


def _describe_gap(units: Sequence[OutputUnit]) -> str:
    return f"... [{_count_lines(units):,} lines left out] ..."


def _count_lines(units: Sequence[OutputUnit]) -> int:
    return sum(unit.lines for unit in units)
