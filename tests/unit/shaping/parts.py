"""What the tests of this room share: reports, a place to keep the rest, and the cost of what goes back."""

from dataclasses import asdict
from typing import Any

from gristmill.model import Report
from gristmill.shaping.shaped_report import ShapedReport
from gristmill.shaping.token_fit import count_tokens
from gristmill.shaping.values.compact_json import encode_json_text


class Kept:
    """A spill that remembers what it was given."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def __call__(self, name: str, content: bytes) -> str | None:
        path = f"results/8f3a9c21-d0b7-4c55-a7d1-e2f3a4b5c6d7-{name}"
        self.files[path] = content
        return path


def lost(_name: str, _content: bytes) -> str | None:
    """A spill for a caller without a session."""
    return None


def report(*, output: str = "", result: Any = None, error: str | None = None) -> Report:
    return Report(status="failed" if error else "ok", output=output, result=result, error=error)


def costs(shaped: ShapedReport) -> dict[str, int]:
    """Tokens of each part, what is said about the rest of it included."""
    texts = {"output": shaped.output, "result": encode_json_text(shaped.result), "error": shaped.error or ""}
    said = {left.part: count_tokens(encode_json_text(asdict(left))) for left in shaped.left_out}
    return {part: count_tokens(text) + said.get(part, 0) for part, text in texts.items()}


ROWS = [
    {"id": number, "name": f"customer {number}", "country": "FR" if number % 3 == 0 else "DE", "total": number * 1.5}
    for number in range(10_000)
]
