"""Programs whose writes wait for approval, in the real sandbox: what the plan holds, where it stops, what stays as it was."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.model import Outcome, Plan

_made: list[dict[str, Any]] = []


def create(title: str, parent: str = "") -> dict[str, str]:
    """Make a page."""
    _made.append({"title": title, "parent": parent})
    return {"id": f"p{len(_made)}", "title": title}


def look(id: str) -> list[str]:  # noqa: A002 - as a server might call it
    """Titles of what is below a page."""
    return [page["title"] for page in _made if page["parent"] == id]


@pytest.fixture(scope="module")
def wiki(state: Path) -> Generator[BlockingRuntime]:
    settings = {"store": {"path": state / "plans"}, "policy": {"allow": ["wiki.look"], "ask": ["wiki.create"]}}
    (state / "plans").mkdir(mode=0o755)
    with BlockingRuntime(Config.model_validate(settings), tools={"wiki.create": create, "wiki.look": look}) as runtime:
        yield runtime


@pytest.fixture(autouse=True)
def empty() -> None:
    _made.clear()


def plan_of(outcome: Outcome) -> Plan:
    assert outcome.status == "awaiting_approval", outcome
    assert outcome.plan is not None
    return outcome.plan


@pytest.mark.requirement("P8")
def test_a_loop_of_writes_is_one_question(wiki: BlockingRuntime) -> None:
    asked: list[Plan] = []

    def approve(plan: Plan) -> Any:
        asked.append(plan)
        return "all"

    code = "from servers import wiki\nfor n in range(50):\n    wiki.create(title=f'page {n}')\n'done'"
    outcome = wiki.execute(code, approve=approve)
    assert (outcome.status, outcome.result, len(asked), len(asked[0].calls)) == ("ok", "done", 1, 50)
    assert [page["title"] for page in _made] == [f"page {n}" for n in range(50)]


def test_only_what_was_approved_is_done(wiki: BlockingRuntime) -> None:
    code = """
from servers import wiki
from mcp_client import ToolError
refused = []
for n in range(4):
    try:
        wiki.create(title=str(n))
    except ToolError:
        refused.append(n)
refused
"""
    outcome = wiki.execute(code, approve=lambda _plan: [1, 3])
    assert (outcome.status, outcome.result, [page["title"] for page in _made]) == ("ok", [1, 3], ["0", "2"])


CHAIN = """
from servers import wiki
top = wiki.create(title="top")
below = [wiki.create(title=f"below {n}", parent=top["id"]) for n in range(3)]
print(top)
"""


def test_a_plan_may_refer_to_what_it_has_not_made_yet(wiki: BlockingRuntime) -> None:
    asked: list[Plan] = []

    def approve(plan: Plan) -> Any:
        asked.append(plan)
        return "all"

    outcome = wiki.execute(CHAIN, approve=approve)
    assert (outcome.status, len(asked)) == ("ok", 1)
    assert asked[0].calls[1].arguments == {"title": "below 0", "parent": {"$planned": [1, "id"]}}
    assert [page["parent"] for page in _made] == ["", "p1", "p1", "p1"]


def test_a_read_of_what_is_only_planned_waits_too(wiki: BlockingRuntime) -> None:
    code = CHAIN + "\nwiki.look(id=top['id'])"
    outcome = wiki.execute(code, approve=lambda _plan: "all")
    assert (outcome.status, outcome.result) == ("ok", ["below 0", "below 1", "below 2"])


def test_a_planned_result_can_be_printed(wiki: BlockingRuntime) -> None:
    plan = plan_of(outcome := wiki.execute(CHAIN))
    assert (plan.stopped, outcome.output.strip()) == (None, "<result of planned call 1, wiki.create>")


@pytest.mark.requirement("P8")
def test_a_program_that_must_know_a_result_stops_the_plan_there_and_says_so(wiki: BlockingRuntime) -> None:
    code = """
from servers import wiki
if wiki.create(title="a")["id"] == "p1":
    wiki.create(title="b")
"""
    plan = plan_of(wiki.execute(code))
    assert [call.arguments["title"] for call in plan.calls] == ["a"]
    assert plan.stopped is not None
    assert "wiki.create (call 1 of the plan) decides how the program goes on" in plan.stopped
    asked: list[list[str]] = []

    def approve(plan: Plan) -> Any:
        asked.append([call.arguments["title"] for call in plan.calls])
        return "all"

    assert wiki.execute(code, approve=approve).status == "ok"
    assert (asked, [page["title"] for page in _made]) == ([["a"], ["b"]], ["a", "b"])


def test_writes_at_the_same_time_are_one_plan_and_each_is_done_once(wiki: BlockingRuntime) -> None:
    code = """
import asyncio
from servers import wiki
await asyncio.gather(*(asyncio.to_thread(wiki.create, title=str(n)) for n in range(10)))
'done'
"""
    plans: list[int] = []

    def approve(plan: Plan) -> Any:
        plans.append(len(plan.calls))
        return "all"

    outcome = wiki.execute(code, approve=approve)
    assert (outcome.status, plans, sorted(page["title"] for page in _made)) == ("ok", [10], [str(n) for n in range(10)])


def test_a_rehearsal_leaves_the_variables_of_its_session_as_they_were(wiki: BlockingRuntime) -> None:
    wiki.execute("count = 1", session="s")
    plan_of(wiki.execute("from servers import wiki\ncount += 1\nwiki.create(title=str(count))", session="s"))
    assert wiki.execute("count", session="s").result == 1
    done = wiki.execute(
        "from servers import wiki\ncount += 1\nwiki.create(title=str(count))", session="s", approve=lambda _: "all"
    )
    assert (done.status, _made) == ("ok", [{"title": "2", "parent": ""}])
    assert wiki.execute("count", session="s").result == 2


@pytest.mark.requirement("P9")
def test_a_failed_program_is_mended_and_goes_on_without_repeating_a_call(wiki: BlockingRuntime) -> None:
    code = "from servers import wiki\nfor n in range(5):\n    wiki.create(title=str(n))\nboom"
    failed = wiki.execute(code, approve=lambda _: "all")
    assert (failed.status, len(_made)) == ("failed", 5)
    mended = wiki.execute(code.replace("boom", "wiki.create(title='last')"), resume=failed.id, approve=lambda _: "all")
    assert mended.replay is not None
    assert (mended.status, mended.replay.answered, len(_made)) == ("ok", 5, 6)
    other = wiki.execute("from servers import wiki\nwiki.create(title='0')", resume=failed.id)
    assert other.replay is not None
    assert (other.status, len(other.replay.diverged), len(_made)) == ("ok", 5, 6)
