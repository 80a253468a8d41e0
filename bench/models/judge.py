"""Judges a model's answer against the truth, and names why a task failed."""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

MARK = "ANSWER:"
_MARKED = re.compile(r"answer[*`]*\s*[:=][*`]*\s*", re.IGNORECASE)

FAILURES: Mapping[str, str] = {
    "context": "the request was longer than the model's context",
    "endpoint": "the endpoint gave no completion",
    "no_call": "it called no tool",
    "repeated": "it sent the same failing call until the end",
    "no_answer": "it gave no answer within the requests that it had",
    "after_error": "it answered although its last call had failed",
    "form": "its answer is no JSON",
    "wrong": "its answer is not the truth",
}
"""Why a task failed, the first that fits."""


def find_answer(text: str) -> str | None:
    """Returns what stands behind the last ``ANSWER:``, or None."""
    marks = list(_MARKED.finditer(text))
    return text[marks[-1].end() :].strip() if marks else None


def decode_answer(answer: str) -> tuple[bool, Any]:
    """Returns whether an answer is JSON (or a Python literal), and its value; fences and words behind it are dropped."""
    text = answer.strip().strip("`*").removeprefix("json").strip()
    try:
        return True, json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        pass
    for line in (text, text.partition("\n")[0]):
        try:
            return True, json.loads(json.dumps(ast.literal_eval(line.strip("`* "))))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return False, None


def is_same(found: Any, truth: Any) -> bool:
    """Returns whether two answers are the same: numbers to half a unit of the truth's last digit, keys as text, case ignored."""
    if isinstance(truth, bool) or truth is None:
        return found == truth
    if isinstance(truth, (int, float)):
        return _is_number(found, float(truth))
    if isinstance(truth, str):
        return isinstance(found, (str, int, float)) and str(found).strip().casefold() == truth.casefold()
    if isinstance(truth, dict):
        return _is_same_dict(found, cast("dict[str, Any]", truth))
    if not isinstance(found, list):
        return False
    both = cast("list[Any]", found), cast("list[Any]", truth)
    if all(isinstance(each, str) for each in (*both[0], *both[1])):  # names that were asked for, in any order
        return sorted(map(str.casefold, both[0])) == sorted(map(str.casefold, both[1]))
    return len(both[0]) == len(both[1]) and all(is_same(one, other) for one, other in zip(*both, strict=True))


def _is_number(found: Any, truth: float) -> bool:
    if isinstance(found, str):
        try:
            found = float(found.strip().strip("$€% ").replace(",", ""))
        except ValueError:
            return False
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return False
    digits = len(repr(truth).partition(".")[2].rstrip("0"))
    return math.isclose(found, truth, abs_tol=0.5000001 * 10**-digits)


def _is_same_dict(found: Any, truth: dict[str, Any]) -> bool:
    if isinstance(found, list):  # pairs say the same as a dictionary
        pairs = cast("list[Any]", found)
        if not all(isinstance(pair, list) and len(cast("list[Any]", pair)) == 2 for pair in pairs):
            return False
        found = {str(key): value for key, value in pairs}
    if not isinstance(found, dict):
        return False
    named = {str(key).casefold(): value for key, value in cast("dict[Any, Any]", found).items()}
    return named.keys() == {key.casefold() for key in truth} and all(
        is_same(named[key.casefold()], value) for key, value in truth.items()
    )


def name_failure(steps: Sequence[Mapping[str, Any]], answer: str | None, stopped: str | None) -> str:
    """Names the first failure that fits, out of ``FAILURES``; ``steps`` are the calls with their answers."""
    if stopped in ("context", "endpoint"):
        return stopped
    calls = [(step["name"], json.dumps(step["arguments"], sort_keys=True), step["is_error"]) for step in steps]
    if not calls:
        return "no_call"
    if len(calls) > 1 and calls[-1][2] and calls[-1] == calls[-2]:
        return "repeated"
    if answer is None:
        return "no_answer"
    if calls[-1][2]:
        return "after_error"
    return "wrong" if decode_answer(answer)[0] else "form"
