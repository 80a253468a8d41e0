"""What each part of the masking engine that is there for speed buys: masking with the part and without it, in turns.

    python -m bench.mask_parts                 # a table; also written to bench/out/mask_parts.json
    python -m bench.mask_parts --rounds 20

Every value is masked once with the engine as it is and once without each part, round after round; the best CPU time of each
counts, so that other work on the machine disturbs all alike. A part earns its place if a figure is at least 5 % faster with it.
Without a part the result must be the same, which is checked.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any
from unittest.mock import patch

from bench.environments import OUT
from bench.machine import commit, describe
from bench.mask import rows
from gristmill.guard.mask import json_leaves, redactor
from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.detectors import account_numbers
from gristmill.guard.mask.placeholders import PLACEHOLDER
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Json

BAR = 1.05
_NEVER = 10**12


def search_whole_text(characters: bytes) -> list[tuple[int, int]]:
    return [(0, len(characters))]


def find_nothing_whole(*_: object) -> dict[str, list[str]]:
    return {}


def find_placeholders_plainly(text: str) -> Iterable[Any]:
    return PLACEHOLDER.finditer(text)


def find_abroad_plainly(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
    return [span for start, end in runs for span in account_numbers._find_phones(text, start, end)]  # pyright: ignore[reportPrivateUsage]


def mask_inside_and_read_again(self: Any, texts: list[str], joined: str, rounds: int) -> dict[str, str]:
    """Reads every changed text again, instead of only what is glued to a finding."""
    found = self._detector.find(self._hide_placeholders(joined))
    if not found:
        return {}
    beside = redactor.AdjacentText(joined, found)
    changes: dict[str, str]
    if joined.count(redactor.GAP) >= len(texts) or beside.crosses_separator():
        changes = self._mask_separately(texts, found)[0]
    else:
        changes = self._mask_joined(texts, joined, found, [], rounds)
    again: dict[str, str] = self._mask_texts(changes.values(), rounds - 1) if rounds else {}
    return {text: again.get(masked, masked) for text, masked in changes.items()}


def patches(*wanted: Any) -> Callable[[], AbstractContextManager[object]]:
    """Opens all of ``wanted``, each of which is an object, a name and what stands there instead."""

    def open_all() -> AbstractContextManager[object]:
        stack = ExitStack()
        for where, name, instead in wanted:
            stack.enter_context(patch.object(where, name, instead))
        return stack

    return open_all


WITHOUT: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "whole values (detectors/whole_values)": patches((Detector, "find_whole", find_nothing_whole)),
    "places of digits (detectors/digit_runs)": patches((account_numbers, "find_places", search_whole_text)),
    "numbers abroad first (account_numbers)": patches((account_numbers, "_find_international_phones", find_abroad_plainly)),
    "glued text (adjacent_text)": patches((Redactor, "_mask_inside_texts", mask_inside_and_read_again)),
    "tables by column (table_columns)": patches((json_leaves, "ROWS", _NEVER)),
    "paused collector (pause_gc)": patches((redactor, "pause_collection", nullcontext)),
    "placeholders by their ends (placeholders)": patches((redactor, "find_placeholders", find_placeholders_plainly)),
}

_CUSTOM = DetectionTargets(
    patterns={"employee": r"\bEMP-\d{6}\b", "case": r"\bC[A-Z]\d{4}\b"},
    names=tuple(f"Person Number{number}" for number in range(1_000)),
)


def values() -> dict[str, tuple[Json, DetectionTargets]]:
    """What is masked, by the name of its figure."""
    plain, some, full = rows(hits=0), rows(hits=4), rows(hits=1)
    usual = DetectionTargets()
    return {
        "rows, none": (plain, usual),
        "rows, one": (some, usual),
        "rows, four": (full, usual),
        "text, none": (json.dumps(plain), usual),
        "text, one": (json.dumps(some), usual),
        "text, four": (json.dumps(full), usual),
        "rows, four, custom": (full, _CUSTOM),
        "masked before": (Redactor(MaskVault(b"k" * 32), Detector()).mask(full), usual),
        "telephone numbers": ([f"call +49 30 {number} now" for number in range(1_234_567, 1_244_567)], usual),
        "one row": (full[0], usual),
        "text, none, known": (json.dumps(plain), usual),
    }


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """By part and figure: how many times as long it takes without the part."""
    detectors: dict[int, Detector] = {}
    best: dict[tuple[str, str], float] = {}
    variants = {"": nullcontext, **WITHOUT}
    cases = values()
    expected: dict[str, Json] = {}
    for _ in range(rounds):
        for figure, (value, wanted) in cases.items():
            detector = detectors.setdefault(id(wanted), Detector(wanted))
            for name, without in variants.items():
                with without():
                    seconds, masked = _time_once(
                        detector, value, 2_000 if figure == "one row" else 1, KNOWN if figure.endswith("known") else {}
                    )
                best[name, figure] = min(seconds, best.get((name, figure), seconds))
                if masked != expected.setdefault(figure, masked):
                    raise SystemExit(f"another result without {name}: {figure}")
    return {name: {figure: round(best[name, figure] / best["", figure], 3) for figure in cases} for name in WITHOUT}


KNOWN = {"<EMAIL_abcdefghij>": "ann@example.com"}
"""The entries of a vault in which something was masked before: texts are then searched for placeholders, too."""


def _time_once(detector: Detector, value: Json, times: int, known: dict[str, str]) -> tuple[float, Json]:
    spent = 0.0
    masked: Json = None
    for _ in range(times):
        ours = Redactor(MaskVault(b"k" * 32, known), detector)
        started = time.process_time()
        masked = ours.mask(value)
        spent += time.process_time() - started
    return spent, masked


def main() -> int:
    """Measure, print, write; fails if a part buys nothing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    rounds: int = parser.parse_args().rounds
    document: dict[str, Any] = {"machine": describe(), "commit": commit(), "rounds": rounds, "times_without": measure(rounds)}
    OUT.mkdir(exist_ok=True)
    (OUT / "mask_parts.json").write_text(json.dumps(document, indent=1) + "\n")
    figures = list(next(iter(document["times_without"].values())))
    print(f"{'time without the part':44}" + "".join(f"{figure:>20}" for figure in figures))
    for name, ratios in document["times_without"].items():
        print(f"{name:44}" + "".join(f"{ratios[figure]:20.2f}" for figure in figures))
    idle = [name for name, ratios in document["times_without"].items() if max(ratios.values()) < BAR]
    if idle:
        print(f"buys less than {BAR - 1:.0%} everywhere: {idle}", file=sys.stderr)
    return 1 if idle else 0


if __name__ == "__main__":
    raise SystemExit(main())
