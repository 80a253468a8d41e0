"""Two models of two providers share a conversation, its variables and skills, and one asks the other from its program."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from examples.llmhive.hive import TOOLS, Hive, read_agents
from gristmill import Config, Runtime
from gristmill.chat.agents.agent_budget import Agent
from gristmill.testing import ModelAnswer, ModelCall, ModelServer

COLLECT = """
from servers import hive
from skills import save

def list_best(limit: int) -> list[dict]:
    \"\"\"The findings with the best scores.\"\"\"
    return sorted(hive.list_findings(), key=lambda each: -each["score"])[:limit]

save(list_best, requires=["hive.list_findings"], level="user")
best = list_best(limit=3)
len(best)
"""
GO_ON = """
from skills import list_best
[len(list_best(limit=5)), len(best)]     # a skill of the user, and a variable of the conversation
"""
DELEGATE = """
from agents import ask
verdicts = ask("coder", f"rate the scores {[each['score'] for each in best]}", as_json=True)
[verdicts[0], len(verdicts)]
"""
RATE = "from servers.hive import rate_scores\nrate_scores(scores=[99, 99, 98])"


def run(code: str, **tokens: Any) -> ModelAnswer:
    return ModelAnswer(calls=[ModelCall("execute_code", {"code": code})], **tokens)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncGenerator[Runtime]:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    config = Config.model_validate({"store": {"path": tmp_path}, "sandbox": {"limits": {"seconds": 60}}})
    async with Runtime.open(config, tools=TOOLS) as opened:
        yield opened


def names(tree: Any) -> list[Any]:
    own = tree.get("tool") or tree["kind"]
    return [own, *(names(child) for child in tree["children"] if child["status"] != "accepted")]


@pytest.mark.anyio
async def test_models_share_a_conversation_and_delegate_from_code(runtime: Runtime) -> None:
    planner = ModelServer(
        [run(COLLECT), ModelAnswer("I have the best three."), run(DELEGATE), ModelAnswer("All three are worth keeping.")]
    )
    coder = ModelServer(
        [
            run(GO_ON),
            ModelAnswer("I see them too."),
            run(RATE, input_tokens=700, output_tokens=30),
            ModelAnswer('["keep", "keep", "keep"]', input_tokens=800, output_tokens=9),
        ]
    )
    with planner, coder:
        agents = {
            "planner": Agent(model="anthropic:scripted", base_url=planner.url, about="plans"),
            "coder": Agent(model="openai:scripted", base_url=coder.openai_url, about="writes code", tokens=5_000),
        }
        hive = await Hive(runtime, agents).open()
        first = await hive.say("planner", "collect the best findings", user="ann")
        second = await hive.say("coder", "do you have them?", user="ann", conversation=first.conversation)
        third = await hive.say("planner", "are they worth keeping?", user="ann", conversation=first.conversation)
        tree = await hive.show_tree(third)

    assert [each.status for each in (first, second, third)] == ["answered"] * 3
    assert "[5,3]" in coder.requests[1].tool_results[0], "the skill and the variable of the other model"
    assert "I have the best three." in str(coder.requests[0].messages), "what was said to the other model"
    assert "rate the scores" in coder.requests[2].last_text
    assert "the best findings" not in str(coder.requests[2].messages), "a model that is asked knows only the question"
    assert third.text == "All three are worth keeping."
    assert '["keep",3]' in planner.requests[3].tool_results[0], "the answer is a value of the program"
    assert [names(each) for each in tree] == [["execution", ["execution", ["hive.rate_scores"]], ["agents.ask"]]]
    (cost,) = hive.costs
    assert (cost.agent, cost.parent, cost.usage.input_tokens, cost.usage.output_tokens) == (
        "coder", third.programs[0].execution, 1_500, 39,
    )  # fmt: skip
    assert third.usage.input_tokens > 0, "and the asking model's own cost is counted apart"


@pytest.mark.parametrize("given", ["planner", "=openai:x", "a b=openai:x"])
def test_what_names_no_model_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="names no model"):
        read_agents([given], 1_000)
