"""Names what was left out: where it is kept, and the one line of Python that shows more of it."""

import json
from dataclasses import asdict, replace
from typing import Literal

from msgspec import Struct

from gristmill.errors import Error
from gristmill.model import LeftOut
from gristmill.shaping.shape_draft import LeftOutPlace
from gristmill.shaping.shaped_report import Spill
from gristmill.shaping.token_fit import count_tokens
from gristmill.shaping.values.compact_json import encode_json_text

SUGGESTED_AMOUNTS: dict[str, int] = {"items": 20, "pairs": 20, "text": 2_000, "lines": 40}
"""How much of what was left out the suggested line shows."""
LONGEST_HOW = 160
LONGEST_REASON = 80
Part = Literal["output", "result", "error"]


class KeptPart(Struct, frozen=True, kw_only=True):
    """Where the whole part is kept, or why it is lost."""

    path: str | None
    lost: str = ""


def keep_part(spill: Spill, name: str, content: bytes | None) -> KeptPart:
    """Passes ``content`` to ``spill``. A failure is reported, not raised: the short form is still returned."""
    if content is None:
        return KeptPart(path=None, lost="lost, as it is nested too deep to be written; return something flatter")
    try:
        path = spill(name, content)
    except (Error, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
        return KeptPart(path=None, lost=f"lost, as it could not be kept ({reason[:LONGEST_REASON]}); return or print less")
    return (
        KeptPart(path=path)
        if path
        else KeptPart(path=None, lost="lost, as there is no session to keep it in; return or print less")
    )


def suggest_result_code(kept: KeptPart, fold: LeftOutPlace | None) -> str:
    """Returns ``import json; json.load(open("results/e1-result.json"))["rows"][100:120]``, or what to do if it is lost."""
    if kept.path is None:
        return kept.lost
    whole = f"json.load(open({_quote_step(kept.path)}))"
    if fold is None:
        return f"import json; {whole}"
    part = whole + "".join(f"[{_quote_step(step)}]" for step in fold.path)
    how = (
        part
        if fold.kind == "whole"
        else _write_slice(f"list({part}.items())" if fold.kind == "pairs" else part, fold.kind, fold.start)
    )
    return f"import json; {how if len(how) <= len(whole) + LONGEST_HOW else whole}"


def suggest_text_code(kept: KeptPart, unit: Literal["lines", "text"], start: int) -> str:
    """Returns ``open("results/e1-output.txt").read().splitlines()[40:80]``, or what to do if it is lost."""
    if kept.path is None:
        return kept.lost
    whole = f"open({_quote_step(kept.path)}).read()"
    return _write_slice(f"{whole}.splitlines()" if unit == "lines" else whole, unit, start)


def count_note_tokens(left: LeftOut) -> int:
    """Counts the tokens that the note takes, as JSON."""
    return count_tokens(encode_json_text(asdict(left)))


def drop_suggestion(left: LeftOut) -> LeftOut:
    """Returns the note without the suggested code, for use where there is no room for it."""
    return replace(left, how="" if left.path else "lost; return less")


def _write_slice(expression: str, kind: str, start: int) -> str:
    return f"{expression}[{start}:{start + SUGGESTED_AMOUNTS[kind]}]"


def _quote_step(step: str | int) -> str:
    return json.dumps(step, ensure_ascii=False)
