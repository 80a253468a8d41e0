"""What was left out gets a name: where it is kept, and the one line of Python that looks at more of it."""

import json
from dataclasses import asdict, replace
from typing import Literal

from gristmill.errors import Error
from gristmill.model import LeftOut
from gristmill.shaping.shape_draft import Fold
from gristmill.shaping.shaped_report import Spill
from gristmill.shaping.token_fit import count
from gristmill.shaping.values.compact_json import as_text
from gristmill.values import dataclass

AT_ONCE: dict[str, int] = {"items": 20, "pairs": 20, "text": 2_000, "lines": 40}
"""How much of what was left out the suggested line looks at."""
LONGEST_HOW = 160
LONGEST_REASON = 80
Part = Literal["output", "result", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Where the whole part is, or why it is nowhere."""

    path: str | None
    lost: str = ""


def keep(spill: Spill, name: str, content: bytes | None) -> Kept:
    """Hand ``content`` to the hall; a failure is a finding, not an end: the short form still goes back."""
    if content is None:
        return Kept(path=None, lost="lost, as it is nested too deep to be written; return something flatter")
    try:
        path = spill(name, content)
    except (Error, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
        return Kept(path=None, lost=f"lost, as it could not be kept ({reason[:LONGEST_REASON]}); return or print less")
    return Kept(path=path) if path else Kept(path=None, lost="lost, as there is no session to keep it in; return or print less")


def look_at_result(kept: Kept, fold: Fold | None) -> str:
    """``import json; json.load(open("results/e1-result.json"))["rows"][100:120]``, or what to do when it is lost."""
    if kept.path is None:
        return kept.lost
    whole = f"json.load(open({_quoted(kept.path)}))"
    if fold is None:
        return f"import json; {whole}"
    part = whole + "".join(f"[{_quoted(step)}]" for step in fold.path)
    how = (
        part if fold.kind == "whole" else _slice(f"list({part}.items())" if fold.kind == "pairs" else part, fold.kind, fold.start)
    )
    return f"import json; {how if len(how) <= len(whole) + LONGEST_HOW else whole}"


def look_at_text(kept: Kept, unit: Literal["lines", "text"], start: int) -> str:
    """``open("results/e1-output.txt").read().splitlines()[40:80]``, or what to do when it is lost."""
    if kept.path is None:
        return kept.lost
    whole = f"open({_quoted(kept.path)}).read()"
    return _slice(f"{whole}.splitlines()" if unit == "lines" else whole, unit, start)


def cost(left: LeftOut) -> int:
    """Tokens that saying so takes, as JSON."""
    return count(as_text(asdict(left)))


def shortened(left: LeftOut) -> LeftOut:
    """The same without the suggestion, for where there is no room for one."""
    return replace(left, how="" if left.path else "lost; return less")


def _slice(expression: str, kind: str, start: int) -> str:
    return f"{expression}[{start}:{start + AT_ONCE[kind]}]"


def _quoted(step: str | int) -> str:
    return json.dumps(step, ensure_ascii=False)
