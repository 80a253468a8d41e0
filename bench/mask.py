"""How fast personal data is found and masked, against reading and writing the same bytes as JSON; and that no text is slow.

python bench/mask.py            # a table; also written to bench/out/mask.json
python bench/mask.py --json
"""

import json
import random
import string
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.machine import commit, describe
from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Json

TARGET_MB_S = 20.0
ROUNDS = 5
HOSTILE_MB = 1
LINEAR = 2.6
"""Twice the text may take this many times as long; the square would take four times."""

WORDS = (
    "the customer asked about an invoice for project delivery in March and task status risk disk access token of GitHub "
    "Slack account payment pending order shipped returned price total please call back tomorrow morning"
).split()


def rows(hits: int, count: int = 6_000) -> list[dict[str, Json]]:
    """Rows of a customer table of about 400 bytes; every ``hits``-th has two mail addresses, a telephone number, a card."""
    dice = random.Random(7)
    return [_row(dice, number, hits > 0 and number % hits == 0) for number in range(count)]


def _row(dice: random.Random, number: int, hits: bool) -> dict[str, Json]:
    row: dict[str, Json] = {
        "id": 100_000 + number,
        "uuid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
        "status": dice.choice(("open", "pending", "closed")),
        "created_at": f"2026-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:11Z",
        "amount": round(dice.random() * 10_000, 2),
        "note": " ".join(dice.choices(WORDS, k=14)),
        "address": {
            "street": f"{dice.choice(WORDS).title()} Street {number % 200}",
            "zip": f"{10_000 + number % 80_000}",
            "country": "DE",
        },
        "tags": dice.choices(WORDS, k=3),
    }
    if hits:
        user = "".join(dice.choices(string.ascii_lowercase, k=9))
        row |= {
            "email": f"{user}@example.com",
            "phone": f"+49 30 {dice.randrange(10**6, 10**7)}",
            "contact": f"write to {user}.office@example.org or call",
            "card": _card(dice),
        }
    return row


def _card(dice: random.Random) -> str:
    digits = "4" + "".join(dice.choices(string.digits, k=14))
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(digits))
    return digits + str(-total % 10)


HOSTILE = {
    "at signs": "a@",
    "at signs and dots": "@a.a",
    "digits": "1234567890",
    "digits and spaces": "12 ",
    "zeros": "01 23 ",
    "plus signs": "+1 ",
    "parentheses": "(555) ",
    "key prefixes": "sk-",
    "web tokens": ".eyJa",
    "web tokens with dashes": "-eyJ",
    "private keys": "-----BEGIN PRIVATE KEY-----",
    "words before secrets": "token=",
    "passwords": "password:",
    "passwords in addresses": "://:a@",
    "country codes": " DE12 ",
    "placeholders": "<EMAIL_",
    "one letter": "x",
}


def best(action: Callable[[], object]) -> float:
    """CPU seconds of the best of some rounds: all of it is computing, and other work on the machine must not count."""
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)


def measure() -> dict[str, Any]:
    """Every figure."""
    plain, some, full = rows(hits=0), rows(hits=4), rows(hits=1)
    texts = {
        "text without hits": json.dumps(plain),
        "text, one hit per row": json.dumps(some),
        "text, four hits per row": json.dumps(full),
    }
    figures = {"rows without hits": _figure(plain), "rows, one hit each": _figure(some), "rows, four hits each": _figure(full)}
    figures |= {name: _figure(text) for name, text in texts.items()}
    figures["rows, four hits each, custom patterns and names"] = _figure(full, _CUSTOM)
    figures["rows, four hits each, unmasked"] = _unmask_figure(full)
    return {"target_mb_s": TARGET_MB_S, "rates": figures, "hostile": {name: _hostile(piece) for name, piece in HOSTILE.items()}}


_CUSTOM = DetectionTargets(
    patterns={"employee": r"\bEMP-\d{6}\b", "case": r"\bC[A-Z]\d{4}\b"},
    names=tuple(f"Person Number{number}" for number in range(1_000)),
)


def _figure(value: Json, wanted: DetectionTargets | None = None) -> dict[str, float]:
    detector = Detector(wanted or DetectionTargets())
    text = value if isinstance(value, str) else json.dumps(value)
    # A fresh vault each time: every value is new, as on the first result of a session.
    seconds = best(lambda: Redactor(MaskVault(b"k" * 32), detector).mask(value))
    return _rate(text, seconds)


def _unmask_figure(value: Json) -> dict[str, float]:
    redactor = Redactor(MaskVault(b"k" * 32), Detector())
    masked = redactor.mask(value)
    return _rate(json.dumps(value), best(lambda: redactor.unmask(masked)))


def _rate(text: str, seconds: float) -> dict[str, float]:
    megabytes = len(text.encode()) / 1e6
    through_json = best(lambda: json.dumps(json.loads(text)))
    return {
        "mb": round(megabytes, 2),
        "mb_s": round(megabytes / seconds, 1),
        "json_mb_s": round(megabytes / through_json, 1),
        "of_json_time": round(seconds / through_json, 2),
    }


def _hostile(piece: str) -> dict[str, float]:
    """A piece over and over, and twice as much of it; fresh vaults, the better of two."""
    detector = Detector()
    times = [_once(detector, piece * (size * 1_000_000 // len(piece))) for size in (HOSTILE_MB, 2 * HOSTILE_MB)]
    return {"mb_s": round(2 * HOSTILE_MB / times[1], 2), "doubling": round(times[1] / times[0], 2)}


def _once(detector: Detector, text: str) -> float:
    times: list[float] = []
    for _ in range(2):
        started = time.process_time()
        Redactor(MaskVault(b"k" * 32), detector).mask_text(text)
        times.append(time.process_time() - started)
    return min(times)


def main() -> int:
    """Measure, print, and fail where a bar is missed."""
    document: dict[str, Any] = {"machine": describe(), "commit": commit(), **measure()}
    out = Path(__file__).parent / "out" / "mask.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n")
    if "--json" in sys.argv:
        print(json.dumps(document, indent=1))
    else:
        for name, figure in document["rates"].items():
            print(f"{name:48} {figure['mb_s']:7.1f} MB/s  {figure['of_json_time']:5.2f} x the time of json.loads and dumps")
        for name, figure in document["hostile"].items():
            print(f"hostile: {name:39} {figure['mb_s']:7.1f} MB/s  twice the text takes {figure['doubling']:.2f} x the time")
    slow = [name for name, figure in document["rates"].items() if figure["mb_s"] < TARGET_MB_S]
    bent = [name for name, figure in document["hostile"].items() if figure["doubling"] > LINEAR]
    if slow or bent:
        print(f"missed: {slow + bent}", file=sys.stderr)
    return 1 if slow or bent else 0


if __name__ == "__main__":
    raise SystemExit(main())
