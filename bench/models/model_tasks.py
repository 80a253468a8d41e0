"""The tasks that a model answers: those of the example apps, judged by their databases, and recorded ones, judged by calls."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from examples.opening import APPS
from examples.tasks import TASKS
from examples.tasks.truth import open_truth

from bench.models.judge import decode_answer, is_same

SIX = ("pam-spent", "pam-merchants", "home-cold", "home-washes", "shop-arrived", "shop-growth")
"""Two tasks of each app, an easy one and one with large results: ``--tasks six``."""

FORMS: Mapping[str, str] = {
    "pam-spent": '{"fuel": number, "camping": number}',
    "pam-months": '{"2025-01": "category", ...}',
    "pam-over-budget": '{"trip id": number, ...}',
    "pam-room": '["name of the park", rate]',
    "pam-wait": '["status", "YYYY-MM-DD"]',
    "pam-mileage": '{"name of the vehicle": number with one decimal, ...}',
    "pam-budget": '{"category": number, ...}',
    "pam-twice": "[how often, sum]",
    "pam-merchants": '[["merchant", sum], ["merchant", sum], ["merchant", sum]]',
    "pam-plan": '["YYYY-MM-DD", ["XX", "XX", "XX"]]',
    "pam-favorite": '["name of the park", mean]',
    "pam-people": "[people, entries]",
    "home-kitchen": '["entity_id", ...]',
    "home-cold": '["YYYY-MM-DD", mean with one decimal]',
    "home-automate": '["entity_id state", ...]',
    "home-lights": '[["entity_id", number], ...]',
    "home-busy": '["room", number]',
    "home-washes": "[how many, highest]",
    "home-door": '{"Mon": number, "Tue": number, ...}',
    "home-rooms": '[["room", number], ["room", number]]',
    "home-coffee": '[["mon", ...], "HH:M"]',
    "shop-arrived": '["status", "YYYY-MM-DD", pieces]',
    "shop-sync": '{"checked": number, "added": number, "changed": number, "removed": number, "unchanged": number}',
    "shop-raises": '[["sku", number], ...]',
    "shop-late": '{"carrier": percent with one decimal, ...}',
    "shop-reorder": '["sku", ...]',
    "shop-growth": '{"2026-02": percent with one decimal, ...}',
    "shop-customers": '[[id, "country", total], ...]',
    "shop-refunds": '{"2026-01": percent with one decimal, ...}',
    "shop-torch": '["sku", price]',
    "shop-half-year": '{"country": "XX", "category": "name", "best": ["sku", "sku", "sku"]}',
}
"""The form of each answer, the same in all ways, so that an answer can be compared with the database."""

READS = ("get_", "search_", "find_", "total_", "engaged_", "traffic_")
"""Tools of the recorded environment that change nothing begin so."""
RECORDED = "workbench"
RECORDED_NOW = "(It is 2023-11-30 00:00.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTask:
    """One question, its place (an app, or the recorded environment), and the truth."""

    id: str
    place: str
    question: str
    form: str
    """How the answer is to be written; asked for after the work, because a small model that sees it earlier guesses at once."""
    truth: Any = None
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    recorded: Sequence[Mapping[str, Any]] = ()
    """The calls that were recorded, for tasks without a database."""

    def is_right(self, answer: str | None, calls: Sequence[Mapping[str, Any]]) -> bool:
        """Returns whether the answer is the truth; for a recorded task, whether the right calls were made."""
        if self.recorded:
            return is_done(self.recorded, calls)
        is_json, value = decode_answer(answer) if answer is not None else (False, None)
        return is_json and is_same(value, self.truth)


def list_example_tasks() -> list[ModelTask]:
    """Lists the tasks of the example apps, with the truth from their databases."""
    truths = {app: open_truth(app) for app in APPS}
    return [
        ModelTask(
            id=task.id,
            place=task.app,
            question=task.question,
            form=FORMS[task.id],
            truth=json.loads(json.dumps(task.expected(truths[task.app]))),
            context=task.context,
        )
        for task in TASKS
    ]


def list_recorded_tasks(folder: Path, number: int, seed: int) -> list[ModelTask]:
    """Draws ``number`` of the recorded tasks, the same ones for the same seed."""
    rows = [json.loads(line) for line in (folder / f"replay_{RECORDED}.jsonl").read_text().splitlines()]
    drawn = random.Random(seed).sample(rows, min(number, len(rows)))
    return [
        ModelTask(
            id=row["id"],
            place=RECORDED,
            question=f"{row['turns'][0]['user']} {RECORDED_NOW}",
            form='"done"',
            recorded=row["turns"][0]["calls"],
        )
        for row in drawn
    ]


def is_done(recorded: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether the calls that change something are those that were recorded; without any, whether all was read."""
    wanted, found = _count_changes(recorded), _count_changes(made)
    if wanted or found:
        return wanted == found
    return {_name_call(call) for call in recorded} <= {_name_call(call) for call in made}


def _count_changes(calls: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(_name_call(call) for call in calls if not call["name"].startswith(READS))


def _name_call(call: Mapping[str, Any]) -> str:
    return f"{call['server']}.{call['name']} {json.dumps(call['args'], sort_keys=True)}"
