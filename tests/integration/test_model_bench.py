"""``make bench-models``: answers are judged by the truth, calls are read as models write them, and a stop loses nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.models.endpoint import read_text_calls
from bench.models.judge import decode_answer, find_answer, is_same, name_failure
from bench.models.model_report import summarize
from bench.models.model_tasks import FORMS, SIX, is_done, list_example_tasks
from bench.models.models_page import write_page

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ('ANSWER: {"fuel": 204.35, "camping": 140.22}', {"camping": 140.22, "fuel": 204.35}),
        ("It is clear.\n**ANSWER:** {'fuel': 204.3504, 'camping': '140.22'}", {"camping": 140.22, "fuel": 204.35}),
        ('Answer: ```json\n[["Fuel", 204.35], ["camping", 140.22]]\n```', {"camping": 140.22, "fuel": 204.35}),
        ('ANSWER: ["b", "A"]', ["a", "b"]),
        ("ANSWER: [133, 1884]", [133, 1884.0]),
        ('first ANSWER: [1]\nno, ANSWER: ["River Mesa RV Resort", 19.81].', ["River Mesa RV Resort", 19.81]),
    ],
)
def test_an_answer_that_is_the_truth_is_right_however_it_is_written(text: str, truth: Any) -> None:
    answer = find_answer(text)
    assert answer is not None
    is_json, value = decode_answer(answer)
    assert (is_json, is_same(value, truth)) == (True, True)


@pytest.mark.parametrize(
    ("found", "truth"),
    [
        ({"fuel": 204.35}, {"camping": 140.22, "fuel": 204.35}),
        ({"fuel": 204.35, "camping": 140.22, "tolls": 1}, {"camping": 140.22, "fuel": 204.35}),
        ([204.36], [204.35]),
        (["confirmed"], ["confirmed", "2026-07-24"]),
        ([["b", 1], ["a", 2]], [["a", 2], ["b", 1]]),
        (True, 1),
        ("nothing", [1]),
        (None, []),
    ],
)
def test_an_answer_that_is_not_the_truth_is_wrong(found: Any, truth: Any) -> None:
    assert not is_same(found, truth)


def test_a_call_that_a_model_wrote_into_its_text_is_read() -> None:
    fenced = 'I call it:\n```json\n{"name": "get_order", "arguments": {"order_id": 7}}\n```'
    tagged = '<tool_call>\n{"name": "get_order", "arguments": {"order_id": 7}}\n</tool_call>'
    for text in (fenced, tagged, '{"name": "get_order", "parameters": {"order_id": 7}}'):
        (call,) = read_text_calls(text, ["get_order"], takes_code=False)
        assert (call.name, call.arguments, call.is_text) == ("get_order", {"order_id": 7}, True)
    assert read_text_calls(fenced, ["other"], takes_code=True) == ()
    program = "Here:\n```python\nprint(1)\n```"
    assert read_text_calls(program, ["execute_code"], takes_code=False) == ()
    (run,) = read_text_calls(program, ["execute_code"], takes_code=True)
    assert (run.name, run.arguments) == ("execute_code", {"code": "print(1)\n"})


def test_a_failure_is_named_by_the_first_class_that_fits() -> None:
    good = {"name": "execute_code", "arguments": {"code": "1"}, "is_error": False}
    bad = {**good, "is_error": True}
    assert name_failure([], "[1]", "context") == "context"
    assert name_failure([], "[1]", None) == "no_call"
    assert name_failure([bad, bad], "[1]", None) == "repeated"
    assert name_failure([good], None, None) == "no_answer"
    assert name_failure([good, bad], "[1]", None) == "after_error"
    assert name_failure([good], "many", None) == "form"
    assert name_failure([good], "[1]", None) == "wrong"


def test_a_recorded_task_is_done_by_its_changes_and_no_others() -> None:
    read = {"server": "calendar", "name": "search_events", "args": {"query": "ann"}}
    delete = {"server": "calendar", "name": "delete_event", "args": {"event_id": "1"}}
    assert is_done([read, delete], [delete])
    assert not is_done([read, delete], [read])
    assert not is_done([read, delete], [delete, delete])
    assert (is_done([read], [read]), is_done([read], []), is_done([read], [read, delete])) == (True, False, False)


def test_every_example_task_has_a_form_and_a_truth() -> None:
    tasks = list_example_tasks()
    assert {task.id for task in tasks} == set(FORMS) >= set(SIX)
    assert all(task.truth for task in tasks)


def write_recorded(folder: Path) -> None:
    """A recorded environment of one server and one task: find an event, delete it."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "event_id": {"type": "string"}}}
    tools = [
        {"name": "search_events", "description": "Search events.", "inputSchema": schema},
        {"name": "delete_event", "description": "Delete an event.", "inputSchema": schema},
    ]
    calls = [
        {"server": "calendar", "name": "search_events", "args": {"query": "ann"}, "result": '[{"event_id": "1"}]'},
        {"server": "calendar", "name": "delete_event", "args": {"event_id": "1"}, "result": "deleted"},
    ]
    (folder / "tools_workbench.json").write_text(json.dumps({"calendar": tools}))
    task = {"id": "calendar_1", "turns": [{"user": "Cancel all meetings with ann", "calls": calls}]}
    (folder / "replay_workbench.jsonl").write_text(json.dumps(task) + "\n")


PROGRAM = """\
from servers import calendar
for event in calendar.search_events(query="ann"):
    calendar.delete_event(event_id=event["event_id"])
"""


def answer_well(request: ModelRequest) -> ModelAnswer | ModelFailure:
    """A model that does it right in all three ways, by what it is offered and what it has done."""
    delete, search = ModelCall("delete_event", {"event_id": "1"}), ModelCall("search_events", {"query": "ann"})
    if request.last_text.startswith("Write your answer"):
        return ModelAnswer('ANSWER: "done"')
    if "execute_code" in request.tools:
        steps = [ModelCall("search_tools", {"query": "cancel meetings"}), ModelCall("execute_code", {"code": PROGRAM})]
    elif "search_tools" in request.tools:
        steps = [ModelCall("search_tools", {"query": "search and delete calendar events"}), search, delete]
    else:
        steps = [search, delete]
    return ModelAnswer(calls=[steps[request.turn]]) if request.turn < len(steps) else ModelAnswer("All cancelled.")


def bench(out: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GRISTMILL_MODEL_URL": url, "GRISTMILL_MODEL_NAME": "scripted", "GRISTMILL_MODEL_KEY": "key"}
    command = [sys.executable, "-m", "bench.models", "--out", str(out), "--tasks", "workbench", *options]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.thorough
def test_a_model_behind_an_endpoint_answers_three_ways_and_a_stop_loses_nothing(tmp_path: Path) -> None:
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    recorded.mkdir()
    tmp_path.chmod(0o755)
    write_recorded(recorded)
    with ModelServer(answer_well) as model:
        first = bench(out, model.openai_url, "--recorded", str(recorded), "--arms", "direct")
        asked = len(model.requests)
        whole = bench(out, model.openai_url, "--recorded", str(recorded))
    assert first.returncode == whole.returncode == 0, whole.stderr
    found = json.loads((out / "now.json").read_text())
    assert {arm: (rows["tasks"], rows["right"]) for arm, rows in found["arms"].items()} == {
        "direct": (1, 1), "search": (1, 1), "code": (1, 1)
    }  # fmt: skip
    assert {arm: rows["attempts"] for arm, rows in found["arms"].items()} == {"direct": 2, "search": 2, "code": 1}
    assert all(rows["tokens_in"] > rows["tokens_out"] > 0 for rows in found["arms"].values())
    # The second run asked nothing for what the first had answered.
    assert len(model.requests) == asked + found["arms"]["search"]["requests"] + found["arms"]["code"]["requests"]
    assert model.requests[0].api_key == "key"
    assert (model.requests[0].body["temperature"], model.requests[0].body["seed"]) == (0, 7)
    assert "right" in whole.stdout


@pytest.mark.thorough
def test_an_endpoint_that_fails_stops_the_run_and_is_no_answer(tmp_path: Path) -> None:
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    recorded.mkdir()
    write_recorded(recorded)
    with ModelServer([ModelFailure(401, "no such key")]) as model:
        failed = bench(out, model.openai_url, "--recorded", str(recorded), "--arms", "direct")
    assert failed.returncode != 0
    assert "no such key" in failed.stderr
    assert list((out / "now").glob("*.json")) == []


def build_row(task: str, arm: str, *, is_right: bool, tokens: int) -> dict[str, Any]:
    """One result as it is saved."""
    counts = dict.fromkeys(("attempts", "failed_attempts", "searches", "calls_as_text", "requests", "tokens_cached"), 1)
    error: dict[str, Any] = {"name": "execute_code", "arguments": {}, "is_error": True, "said": "failed\nKeyError: 'amount'"}
    return {
        "task": task, "place": "pam", "arm": arm, "is_right": is_right, "failure": None if is_right else "wrong", "why": "",
        **counts, "tokens_in": tokens, "tokens_out": 10, "model_seconds": 1.0, "seconds": 60.0, "answer": "1", "truth": 1,
        "steps": [error], "messages": [],
    }  # fmt: skip


def save_run(folder: Path, source: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Saves results as a run does, and adds them up."""
    (folder / "about").mkdir(parents=True)
    about = {"model": "scripted", "source": source, "requests": 5, "seed": 7, "max_tokens": 500, "protocol": "text",
             "search_first": True, "is_local": True}  # fmt: skip
    (folder / "about" / "run.json").write_text(json.dumps(about))
    for row in rows:
        (folder / f"{row['task']}.{row['arm']}.json").write_text(json.dumps(row))
    return summarize(folder)


def test_the_page_shows_what_was_lost_and_what_has_changed(tmp_path: Path) -> None:
    before = save_run(tmp_path / "before", "old", [build_row("pam-spent", "code", is_right=False, tokens=2_000)])
    now = save_run(
        tmp_path / "now",
        "new",
        [
            build_row("pam-spent", "code", is_right=True, tokens=1_000),
            build_row("pam-spent", "search", is_right=True, tokens=900),
            build_row("pam-twice", "code", is_right=False, tokens=500),
            build_row("pam-twice", "direct", is_right=True, tokens=9_000),
        ],
    )
    page = write_page(now, before)
    assert "| code | 1 of 2 | 2 | 2 | 2 | 1,500 | 20 | 2.0 |" in page
    assert "| code (1) | 0 | 1 | 1 | 1 | 2,000 | 1,000 |" in page
    assert "| pam-spent |  |  | right | 900, 10 | right | 1,000, 10 |" in page
    assert "Right with another way, and not with code: pam-twice." in page
    assert "code took more tokens in: pam-spent." in page
    assert "- Code: `KeyError` 2" in page
    assert "## Before and after" not in write_page(now, None)
