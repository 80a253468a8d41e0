"""Room 6: a report made short enough for a model. Pure and deterministic; the hall says where the rest is kept.

What fits goes back as it is, and finding that out costs a few microseconds. What does not is shown in part, and named.
"""

from itertools import takewhile
from operator import eq

from gristmill.model import Budget, Json, Report, Strategy
from gristmill.shaping.detail_ladder import Detail, ladder, richest
from gristmill.shaping.fit_part import Made, Piece, fit
from gristmill.shaping.shape_draft import Draft
from gristmill.shaping.shaped_report import ERROR_TOKENS, LEAST_TOKENS, Shaped, Spill
from gristmill.shaping.spill import Kept, Part, keep, look_at_result, look_at_text
from gristmill.shaping.text.embedded_values import Block, blocks_of
from gristmill.shaping.text.output_lines import Unit, units_of
from gristmill.shaping.text.shorten_text import Width, show_end, show_lines, widths
from gristmill.shaping.token_fit import fits, surely_fits
from gristmill.shaping.values.compact_json import as_text, encode
from gristmill.shaping.values.describe_value import describe
from gristmill.shaping.values.shorten_json import shrink

LOOKED_AT = 2_000_000
"""Characters of printed text that are looked at: half from its beginning, half from its end."""


def shape(
    report: Report, *, budget: Budget, spill: Spill, strategy: Strategy = "summarize", error_tokens: int = ERROR_TOKENS
) -> Shaped:
    """Bring each part of ``report`` within ``budget``; hand what does not fit to ``spill``, whole.

    It may load a tokenizer and read megabytes: call it from a thread, after ``shape_small`` gave nothing.
    """
    small = shape_small(report, budget=budget, strategy=strategy, error_tokens=error_tokens)
    if small is not None:
        return small
    output = _text("output", report.output, budget.output_tokens, strategy, spill)
    result = _result(report.result, budget.result_tokens, strategy, spill)
    error = Piece(value=None) if report.error is None else _text("error", report.error, error_tokens, strategy, spill)
    left_out = tuple(piece.left for piece in (output, result, error) if piece.left)
    is_short = report.truncated or bool(left_out)
    return Shaped(output=output.value, result=result.value, error=error.value, truncated=is_short, left_out=left_out)


def shape_small(
    report: Report, *, budget: Budget, strategy: Strategy = "summarize", error_tokens: int = ERROR_TOKENS
) -> Shaped | None:
    """``report`` as it is, when its length alone says that it fits or all was asked for; else nothing. Never slow."""
    if strategy != "full" and not (
        surely_fits(report.output, budget.output_tokens)
        and (report.error is None or surely_fits(report.error, error_tokens))
        and _is_small(report.result, budget.result_tokens)
    ):
        return None
    return Shaped(output=report.output, result=report.result, error=report.error, truncated=report.truncated)


def _is_small(value: Json, tokens: int) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    if isinstance(value, str | list | dict) and len(value) > tokens:  # pyright: ignore[reportUnknownArgumentType]
        return False  # every item is a byte at least: a large value is not encoded just to learn that
    encoded = encode(value)
    return encoded is not None and len(encoded) <= tokens


def _result(value: Json, tokens: int, strategy: Strategy, spill: Spill) -> Piece:
    tokens = max(tokens, LEAST_TOKENS)
    encoded = encode(value)
    whole = "" if encoded is None else encoded.decode()
    if encoded is not None and fits(whole, tokens):
        return Piece(value=value)
    kept = keep(spill, "result.json", encoded)
    draft = Draft(strategy=strategy)

    def make(room: int) -> Made:
        def step(detail: Detail) -> Made:
            draft.folds.clear()
            shown = shrink(value, detail, draft)
            return Made(value=shown, text=as_text(shown), how=look_at_result(kept, draft.largest()))

        return richest(ladder(room), step, lambda made: fits(made.text, room)) or _least(value, kept, room)

    return fit("result", whole, kept, tokens, make)


def _least(value: Json, kept: Kept, room: int) -> Made:
    said = describe(value)
    said = said if fits(as_text(said), room) else describe(value, names=False)
    return Made(value=said, text=as_text(said), how=look_at_result(kept, None))


def _text(part: Part, whole: str, tokens: int, strategy: Strategy, spill: Spill) -> Piece:
    tokens = max(tokens, LEAST_TOKENS)
    if fits(whole, tokens):
        return Piece(value=whole)
    kept = keep(spill, f"{part}.txt", whole.encode(errors="replace"))
    looked = _ends(whole)
    draft = Draft(strategy=strategy)
    blocks = blocks_of(looked) if part == "output" else [Block(text=looked)]
    units = [units_of(block.text) if not block.is_json else [] for block in blocks]

    def show(block: Block, lines: list[Unit], step: tuple[Detail, Width]) -> str:
        if block.is_json:
            return as_text(shrink(block.value, step[0], draft))
        return show_end(lines, step[1]) if part == "error" else show_lines(lines, step[1], strategy)

    def make(room: int) -> Made:
        def step(both: tuple[Detail, Width]) -> str:
            return "\n".join(show(block, lines, both) for block, lines in zip(blocks, units, strict=True))

        steps = tuple(zip(ladder(room), widths(room), strict=True))
        text = richest(steps, step, lambda made: fits(made, room)) or f"... [{len(whole):,} characters left out] ..."
        return Made(value=text, text=text, how=_look(kept, whole, text))

    return fit(part, whole, kept, tokens, make)


def _ends(text: str) -> str:
    """The text, or so much of it as is looked at, in whole lines where it has any."""
    if len(text) <= LOOKED_AT:
        return text
    half = LOOKED_AT // 2
    head = text.rfind("\n", 0, half) + 1 or half
    tail = text.find("\n", len(text) - half) + 1 or len(text) - half
    return f"{text[:head]}\n... [{tail - head:,} characters left out] ...\n{text[tail:]}"


def _look(kept: Kept, whole: str, shown: str) -> str:
    """Where the first thing that is not shown is: by lines, or within a line that is long itself."""
    before = sum(takewhile(bool, map(eq, whole, shown)))
    end = whole.find("\n", before)
    is_long_line = (end if end >= 0 else len(whole)) - before > 1_000
    return look_at_text(kept, "text", before) if is_long_line else look_at_text(kept, "lines", whole.count("\n", 0, before))
