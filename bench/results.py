"""What a run of the measurements yields: one JSON document, and the few questions that tables ask of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import FIGURES, Figure

FILE = Path(__file__).parent / "out" / "sandbox.json"
OURS = "gristmill"
_AGAINST = {figure.name: figure.against for figure in FIGURES if figure.against}


@dataclass(frozen=True, slots=True)
class Results:
    """The document, read-only."""

    document: dict[str, Any]

    @classmethod
    def load(cls, path: Path = FILE) -> "Results":
        """Read what ``python -m bench.run`` wrote."""
        return cls(json.loads(path.read_text(encoding="utf-8")))

    def found(self, figure: str, who: str = OURS) -> dict[str, Any]:
        """Quantiles, or ``error``, or nothing."""
        figure = _AGAINST.get(figure, figure) if who != OURS else figure
        return self.document["figures"].get(figure, {}).get("values", {}).get(who, {})

    def value(self, figure: str, who: str = OURS) -> float | None:
        """The median, or the one number that there is."""
        return self.found(figure, who).get("p50")

    def ratio(self, figure: str, who: str) -> float | None:
        """Ours divided by theirs."""
        ours, theirs = self.value(figure), self.value(figure, who)
        return ours / theirs if ours is not None and theirs else None

    def verdict(self, figure: Figure) -> str:
        """``met``, ``missed`` or nothing; a bar on the ratio counts as well."""
        value = self.value(figure.name)
        if value is None:
            return "not measured" if figure.bar is not None else ""
        verdicts = [figure.met(value)]
        if figure.ratio_bar:
            peer, most = figure.ratio_bar
            ratio = self.ratio(figure.name, peer)
            verdicts.append(None if ratio is None else ratio <= most)
        known = [verdict for verdict in verdicts if verdict is not None]
        return "" if not known else "met" if all(known) else "missed"

    def peers(self) -> list[str]:
        """Those that were measured, in the order of the table."""
        return [name for name in self.document["peers"] if name != OURS]


def empty(machine: dict[str, Any], commit: str, date: str, *, quick: bool) -> dict[str, Any]:
    """A document with every figure's words and no numbers yet."""
    figures: dict[str, dict[str, Any]] = {
        figure.name: {
            "title": figure.title, "unit": figure.unit, "method": figure.method, "bar": figure.bar,
            "ratio_bar": figure.ratio_bar, "more_is_better": figure.more_is_better, "values": {},
        }
        for figure in FIGURES
    }  # fmt: skip
    command = "python -m bench.run --quick" if quick else "python -m bench.run"
    return {
        "command": command, "quick": quick, "date": date, "commit": commit, "machine": machine, "peers": {}, "figures": figures,
    }  # fmt: skip


def show(value: float | None, unit: str = "") -> str:
    """A number with as many digits as mean something."""
    if value is None:
        return "-"
    digits = 0 if value >= 100 or unit in ("of 32", "places", "") else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def show_ratio(ratio: float) -> str:
    """``x0.05``: ours is a twentieth of theirs."""
    return f"x{ratio:.3f}" if ratio < 0.0995 else f"x{ratio:.2f}" if ratio < 9.95 else f"x{ratio:,.0f}"
