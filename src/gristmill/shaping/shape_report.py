"""Room 6: makes a report short enough for a model. Pure and deterministic; the runtime decides where the rest is kept.

A part that fits is returned unchanged, and finding that out takes a few microseconds. A larger part is shown in part, with a note
about the rest.
"""

from itertools import takewhile
from operator import eq

from gristmill.model import Budget, Json, Report, Strategy
from gristmill.shaping.detail_ladder import DetailStep, build_ladder, find_richest
from gristmill.shaping.fit_part import FittedPart, ReportPart, fit_part
from gristmill.shaping.shape_draft import ShapeDraft
from gristmill.shaping.shaped_report import ERROR_TOKENS, LEAST_TOKENS, ShapedReport, Spill
from gristmill.shaping.spill import KeptPart, Part, keep_part, suggest_result_code, suggest_text_code
from gristmill.shaping.text.embedded_values import OutputBlock, split_blocks
from gristmill.shaping.text.output_lines import OutputUnit, split_units
from gristmill.shaping.text.shorten_text import TextWidth, build_widths, show_end, show_lines
from gristmill.shaping.token_fit import fits_tokens, surely_fits
from gristmill.shaping.values.compact_json import encode_json, encode_json_text
from gristmill.shaping.values.describe_value import describe_value
from gristmill.shaping.values.shorten_json import shrink_value

MAX_READ_CHARACTERS = 2_000_000
"""Characters of printed text that are read: half from its beginning, half from its end."""


def shape_report(
    report: Report, *, budget: Budget, spill: Spill, strategy: Strategy = "summarize", error_tokens: int = ERROR_TOKENS
) -> ShapedReport:
    """Brings each part of ``report`` within ``budget``; passes each part that does not fit to ``spill``, whole.

    This may load a tokenizer and read megabytes: call it from a thread, after ``shape_small_report`` returned None.
    """
    small = shape_small_report(report, budget=budget, strategy=strategy, error_tokens=error_tokens)
    if small is not None:
        return small
    output = _shape_text("output", report.output, budget.output_tokens, strategy, spill)
    result = _shape_result(report.result, budget.result_tokens, strategy, spill)
    error = ReportPart(value=None) if report.error is None else _shape_text("error", report.error, error_tokens, strategy, spill)
    left_out = tuple(piece.left for piece in (output, result, error) if piece.left)
    is_short = report.truncated or bool(left_out)
    return ShapedReport(output=output.value, result=result.value, error=error.value, truncated=is_short, left_out=left_out)


def shape_small_report(
    report: Report, *, budget: Budget, strategy: Strategy = "summarize", error_tokens: int = ERROR_TOKENS
) -> ShapedReport | None:
    """Returns ``report`` unchanged if its length alone shows that it fits or all was asked for; else None. Never slow."""
    if strategy != "full" and not (
        surely_fits(report.output, budget.output_tokens)
        and (report.error is None or surely_fits(report.error, error_tokens))
        and _is_small(report.result, budget.result_tokens)
    ):
        return None
    return ShapedReport(output=report.output, result=report.result, error=report.error, truncated=report.truncated)


def _is_small(value: Json, tokens: int) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    if isinstance(value, str | list | dict) and len(value) > tokens:  # pyright: ignore[reportUnknownArgumentType]
        return False  # every item takes at least a byte: a large value is not encoded just to learn that
    encoded = encode_json(value)
    return encoded is not None and len(encoded) <= tokens


def _shape_result(value: Json, tokens: int, strategy: Strategy, spill: Spill) -> ReportPart:
    tokens = max(tokens, LEAST_TOKENS)
    encoded = encode_json(value)
    whole = "" if encoded is None else encoded.decode()
    if encoded is not None and fits_tokens(whole, tokens):
        return ReportPart(value=value)
    kept = keep_part(spill, "result.json", encoded)
    draft = ShapeDraft(strategy=strategy)

    def make(room: int) -> FittedPart:
        def step(detail: DetailStep) -> FittedPart:
            draft.left_out_places.clear()
            shown = shrink_value(value, detail, draft)
            return FittedPart(value=shown, text=encode_json_text(shown), how=suggest_result_code(kept, draft.place_to_show()))

        return find_richest(build_ladder(room), step, lambda made: fits_tokens(made.text, room)) or _describe_briefly(
            value, kept, room
        )

    return fit_part("result", whole, kept, tokens, make)


def _describe_briefly(value: Json, kept: KeptPart, room: int) -> FittedPart:
    said = describe_value(value)
    said = said if fits_tokens(encode_json_text(said), room) else describe_value(value, names=False)
    return FittedPart(value=said, text=encode_json_text(said), how=suggest_result_code(kept, None))


def _shape_text(part: Part, whole: str, tokens: int, strategy: Strategy, spill: Spill) -> ReportPart:
    tokens = max(tokens, LEAST_TOKENS)
    if fits_tokens(whole, tokens):
        return ReportPart(value=whole)
    kept = keep_part(spill, f"{part}.txt", whole.encode(errors="replace"))
    looked = _take_ends(whole)
    draft = ShapeDraft(strategy=strategy)
    blocks = split_blocks(looked) if part == "output" else [OutputBlock(text=looked)]
    units = [split_units(block.text) if not block.is_json else [] for block in blocks]

    def show(block: OutputBlock, lines: list[OutputUnit], step: tuple[DetailStep, TextWidth]) -> str:
        if block.is_json:
            return encode_json_text(shrink_value(block.value, step[0], draft))
        return show_end(lines, step[1]) if part == "error" else show_lines(lines, step[1], strategy)

    def make(room: int) -> FittedPart:
        def step(both: tuple[DetailStep, TextWidth]) -> str:
            return "\n".join(show(block, lines, both) for block, lines in zip(blocks, units, strict=True))

        steps = tuple(zip(build_ladder(room), build_widths(room), strict=True))
        text = find_richest(steps, step, lambda made: fits_tokens(made, room)) or f"... [{len(whole):,} characters left out] ..."
        return FittedPart(value=text, text=text, how=_suggest_code(kept, whole, text))

    return fit_part(part, whole, kept, tokens, make)


def _take_ends(text: str) -> str:
    """Returns the text, or only its two ends if it is very long, in whole lines where it has lines."""
    if len(text) <= MAX_READ_CHARACTERS:
        return text
    half = MAX_READ_CHARACTERS // 2
    head = text.rfind("\n", 0, half) + 1 or half
    tail = text.find("\n", len(text) - half) + 1 or len(text) - half
    return f"{text[:head]}\n... [{tail - head:,} characters left out] ...\n{text[tail:]}"


def _suggest_code(kept: KeptPart, whole: str, shown: str) -> str:
    """Returns code that shows the first thing that was left out: by lines, or within a line that is itself long."""
    before = sum(takewhile(bool, map(eq, whole, shown)))
    end = whole.find("\n", before)
    is_long_line = (end if end >= 0 else len(whole)) - before > 1_000
    return (
        suggest_text_code(kept, "text", before)
        if is_long_line
        else suggest_text_code(kept, "lines", whole.count("\n", 0, before))
    )
